internal import ArgumentParser
internal import Foundation
internal import LagMonitor
internal import LagWorkload

/// `lagmond run`: watches its own main thread while the workload stalls it.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a command, the targets of a configuration, or a workload, and report stalls.",
        discussion: """
            Settings: options over environment (LAGMONITOR_ and the key's path in capitals: LAGMONITOR_MONITOR_INTERVAL_MS) \
            over file. With a command behind -- that is run and watched; with targets in the file, all of them are. Otherwise lagmond \
            watches its own main thread; without workload.steps nothing stalls that.
            """
    )

    @Option(help: ArgumentHelp("The configuration, a JSON file.", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("How long to run; without it, until SIGTERM or SIGINT.", valueName: "seconds"))
    var duration: Double?

    @Option(
        help: ArgumentHelp(
            "Where the records go: a path, - for stdout, journald, unix:SOCKET, tcp:HOST:PORT, otlp:URL.",
            valueName: "destination"
        )
    )
    var output: String?

    @Option(help: ArgumentHelp("How a line looks: native, otlp, ecs, sentry (native; to otlp: always otlp).", valueName: "name"))
    var format: String?

    @Option(
        name: .customLong("max-bytes"),
        help: ArgumentHelp("Before a file becomes longer, it is renamed to path.1 and a new one begun.", valueName: "bytes")
    )
    var maxBytes: Int?

    @Option(name: .customLong("max-files"), help: ArgumentHelp("How many renamed files are kept (5).", valueName: "count"))
    var maxFiles: Int?

    @Option(
        help: ArgumentHelp(
            "Serve /metrics, /healthz and /stalls over HTTP there: 127.0.0.1:9464; a port alone: of 127.0.0.1.",
            valueName: "address"
        )
    )
    var listen: String?

    @Option(help: ArgumentHelp("Where to write what was really injected, a JSON line a step.", valueName: "path"))
    var truth: String?

    @Option(
        help: ArgumentHelp("Detection by name: standard (50 ms x 3), relaxed (80 ms x 3), restoring (50 ms x 5, then 5 s rest).")
    )
    var preset: String?

    @Option(
        help: ArgumentHelp(
            "What is a stall, with commas: callout, starvation, ping_while_waiting, ping, frame, sample (callout,starvation).",
            valueName: "names"
        )
    )
    var rules: String?

    @Option(name: .customLong("interval-ms"), help: ArgumentHelp("Rule callout: one timeout of the watchdog.", valueName: "ms"))
    var intervalMilliseconds: Int?

    @Option(help: ArgumentHelp("Rule callout: how many timeouts in a row are a stall.", valueName: "count"))
    var timeouts: Int?

    @Option(
        name: .customLong("starvation-ms"),
        help: ArgumentHelp("Rule starvation: how long a loop may work without a rest (1000).", valueName: "ms")
    )
    var starvationMilliseconds: Int?

    @Option(
        name: .customLong("hang-after-ms"),
        help: ArgumentHelp("When a stall that is not over is reported all the same; 0: at detection.", valueName: "ms")
    )
    var hangAfterMilliseconds: Int?

    @Option(
        name: .customLong("on-hang"),
        help: ArgumentHelp(
            "What is done when a loop of the command hangs: report (default), signal:NAME to that process, restart.",
            valueName: "action"
        )
    )
    var onHang: String?

    @Option(
        name: .customLong("on-hang-after"),
        help: ArgumentHelp("How long it has to hang for that (30).", valueName: "seconds")
    )
    var onHangAfter: Double?

    @Option(help: ArgumentHelp("Whether a command that fails is started again: never (default), on-failure.", valueName: "when"))
    var restart: String?

    @Argument(parsing: .postTerminator, help: "After --: a command to run and to watch, instead of the workload.")
    var command: [String] = []

    /// What the options say, by key path.
    var values: [String: JSONValue] {
        var values: [String: JSONValue] = [:]
        values[SettingKey.config.path] = config.map(JSONValue.string)
        values[SettingKey.duration.path] = duration.map(JSONValue.double)
        values[SettingKey.output.path] = output.map(JSONValue.string)
        values[SettingKey.format.path] = format.map(JSONValue.string)
        values[SettingKey.outputBytes.path] = maxBytes.map(JSONValue.int)
        values[SettingKey.outputFiles.path] = maxFiles.map(JSONValue.int)
        values[SettingKey.listen.path] = listen.map(JSONValue.string)
        values[SettingKey.truth.path] = truth.map(JSONValue.string)
        values[SettingKey.preset.path] = preset.map(JSONValue.string)
        values[SettingKey.rules.path] = rules.map(JSONValue.string)
        values[SettingKey.starvation.path] = starvationMilliseconds.map(JSONValue.int)
        values[SettingKey.interval.path] = intervalMilliseconds.map(JSONValue.int)
        values[SettingKey.timeouts.path] = timeouts.map(JSONValue.int)
        values[SettingKey.hangAfter.path] = hangAfterMilliseconds.map(JSONValue.int)
        values[SettingKey.onHang.path] = onHang.map(JSONValue.string)
        values[SettingKey.onHangAfter.path] = onHangAfter.map(JSONValue.double)
        values[SettingKey.restart.path] = restart.map(JSONValue.string)
        return values
    }

    func run() throws {
        let inherited = InheritedSignals.take()
        if let command = try WrappedCommand.ofCommandLine() {
            let settings = try load()
            try WatchedCommand(settings: settings).execute(command, inherited)
        }
        // Before any thread exists, so that all of them inherit the mask.
        let signals = StopSignals()
        signals.block()
        let settings = try load()
        guard settings.targets.isEmpty else {
            try Daemon(settings, inherited).execute(signals) { () throws(SettingsError) in try Self.load(values) }
        }
        try settings.refuseWithoutEffect(on: .workload)
        try Run(settings: settings).execute(signals)
    }

    private func load() throws -> Settings {
        let settings = try Self.load(values)
        for parameter in settings.idleParameters { Diagnostics.say("\(parameter)") }
        return settings
    }

    private static func load(_ values: [String: JSONValue]) throws(SettingsError) -> Settings {
        try Settings.load(commandLine: values, environment: ProcessInfo.processInfo.environment)
    }
}
