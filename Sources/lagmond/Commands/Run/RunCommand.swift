internal import ArgumentParser
internal import Foundation
internal import LagMonitor

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

    @Option(help: ArgumentHelp("How long to run; without it, until SIGTERM or SIGINT.", valueName: "seconds"))
    var duration: Double?

    @Option(help: ArgumentHelp("Where to write what was really injected, a JSON line a step.", valueName: "path"))
    var truth: String?

    @OptionGroup
    var watch: WatchOptions

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
        var values = watch.values
        values[SettingKey.duration.path] = duration.map(JSONValue.double)
        values[SettingKey.truth.path] = truth.map(JSONValue.string)
        values[SettingKey.onHang.path] = onHang.map(JSONValue.string)
        values[SettingKey.onHangAfter.path] = onHangAfter.map(JSONValue.double)
        values[SettingKey.restart.path] = restart.map(JSONValue.string)
        return values
    }

    func run() throws {
        let inherited = InheritedSignals.take()
        if let command = try WrappedCommand.ofCommandLine() {
            let settings = try load()
            try WrappedCommandRun(settings: settings).execute(command, inherited)
        }
        // Before any thread exists, so that all of them inherit the mask.
        let signals = StopSignals()
        signals.block()
        let settings = try load()
        guard settings.targets.isEmpty else {
            try Daemon(settings: settings, inherited: inherited).execute(signals) { () throws(SettingsError) in try Self.load(values) }
        }
        try settings.rejectUnusedSettings(on: .workload)
        try WorkloadRun(settings: settings).execute(signals)
    }

    private func load() throws -> Settings {
        let settings = try Self.load(values)
        for parameter in settings.unusedOptions { Diagnostics.report("\(parameter)") }
        return settings
    }

    private static func load(_ values: [String: JSONValue]) throws(SettingsError) -> Settings {
        try Settings.load(commandLine: values, environment: ProcessInfo.processInfo.environment)
    }
}
