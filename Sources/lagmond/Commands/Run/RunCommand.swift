internal import ArgumentParser
internal import FoundationEssentials
internal import LagMonitor

/// `lagmond run`: watches a command, the targets of the settings, or its own main thread while a workload stalls it.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a command, the targets of a configuration, or a workload, and report stalls.",
        discussion: """
            Settings: options over environment (LAGMONITOR_ and the key in capitals: LAGMONITOR_MONITOR_INTERVAL_MS) \
            over file. lagmond runs and watches the command after --, or the targets of the file. With neither, it \
            watches its own main thread, which workload.steps stall.
            """
    )

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long to run; by default until SIGTERM or SIGINT.", valueName: "seconds")
    )
    var duration: String?

    @Option(
        help: ArgumentHelp(
            "A file for the ground truth of the workload: one JSON line for each injected stall.",
            valueName: "path"
        )
    )
    var truth: String?

    @OptionGroup
    var watch: WatchOptions

    @OptionGroup
    var selection: SelectionOptions

    @Option(
        name: .customLong("on-hang"),
        help: ArgumentHelp(
            "What to do when a loop of the command hangs: report (default), signal:NAME to that process, restart.",
            valueName: "action"
        )
    )
    var onHang: String?

    @Option(
        name: .customLong("on-hang-after"),
        parsing: .unconditional,
        help: ArgumentHelp("How long the hang lasts before the action (30).", valueName: "seconds")
    )
    var onHangAfter: String?

    @Option(help: ArgumentHelp("When to restart a command that exited: never (default), on-failure.", valueName: "when"))
    var restart: String?

    @Flag(
        name: .customLong("require-watch"),
        help: "Do not run a command that cannot be watched; by default it runs, and the reason is reported."
    )
    var requireWatch = false

    @Flag(
        name: .customLong("perf-map"),
        help: """
            Make node, Python (3.12 and newer) and .NET in the command write the names of their compiled code to /tmp/perf-PID.map, for stacks of \
            code that has no names otherwise. Costs: node some MB of memory and a slower start, Python a fifth of its speed, .NET a slower start; \
            the files stay in /tmp.
            """
    )
    var perfMap = false

    @Argument(parsing: .postTerminator, help: "After --: the command to run and watch.")
    var command: [String] = []

    /// The values of the options, by key path.
    var values: [String: JSONValue] {
        var values = watch.values.merging(selection.values) { $1 }
        values[SettingKey.duration.path] = duration.map(SettingKey.duration.value(of:))
        values[SettingKey.truth.path] = truth.map(JSONValue.string)
        values[SettingKey.onHang.path] = onHang.map(JSONValue.string)
        values[SettingKey.onHangAfter.path] = onHangAfter.map(SettingKey.onHangAfter.value(of:))
        values[SettingKey.restart.path] = restart.map(JSONValue.string)
        if perfMap { values[SettingKey.perfMap.path] = .string("yes") }
        if requireWatch { values[SettingKey.requireWatch.path] = .string("yes") }
        return values
    }

    func run() throws {
        let inherited = InheritedSignals.take()
        if let command = try WrappedCommand.ofCommandLine() {
            let settings = try load(isForCommand: true).withCommandsDefaults()
            try WrappedCommandRun(settings: settings).execute(command, inherited)
        }
        // Before any thread starts, so that all threads inherit the mask.
        let signals = StopSignals()
        signals.block()
        let settings = try load()
        guard settings.targets.isEmpty else {
            let daemon = Daemon(settings: settings.withCommandsDefaults(), inherited: inherited)
            try daemon.execute(signals) { () throws(SettingsError) in try Self.load(values).withCommandsDefaults() }
        }
        try settings.rejectUnusedSettings(on: .workload)
        try WorkloadRun(settings: settings).execute(signals)
    }

    private func load(isForCommand: Bool = false) throws -> Settings {
        let settings = try Self.load(values, isForCommand: isForCommand)
        for parameter in settings.unusedOptions { Diagnostics.report("\(parameter)") }
        return settings
    }

    private static func load(_ values: [String: JSONValue], isForCommand: Bool = false) throws(SettingsError) -> Settings {
        try Settings.load(
            commandLine: values,
            environment: ProcessInfo.processInfo.environment,
            isForCommand: isForCommand
        )
    }
}
