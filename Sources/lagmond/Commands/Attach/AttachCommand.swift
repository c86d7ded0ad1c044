internal import ArgumentParser
internal import FoundationEssentials
internal import LagMonitor

/// `lagmond attach`: watches processes that already run.
struct AttachCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attach",
        abstract: "Watch the loops of a running process from outside.",
        discussion: """
            The kernel's view of each thread shows whether it waits or works. The process is not changed; it is stopped only for some \
            microseconds while the stack of a running thread is copied. lagmond exits with the process (the last of several), or on SIGTERM or SIGINT.

            Threads that wait in epoll_wait, poll or select are found automatically; --loop names others.
            """
    )

    @Option(help: ArgumentHelp("The process to watch, or several as pidof prints them; may be repeated.", valueName: "pid"))
    var pid: [ProcessIDs]

    @Option(help: ArgumentHelp("Watch only this thread; may be repeated.", valueName: "tid"))
    var loop: [Int32] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long to watch; by default until the process exits.", valueName: "seconds")
    )
    var duration: String?

    @OptionGroup
    var watch: WatchOptions

    @OptionGroup
    var selection: SelectionOptions

    private var processes: [Int32] { pid.flatMap(\.numbers) }

    func validate() throws {
        if !loop.isEmpty, processes.count > 1 {
            throw ValidationError(
                "--loop: ambiguous with several processes (allowed: with one --pid)"
            )
        }
        for number in processes + loop where number <= 0 {
            throw ValidationError("\(number): not a process or thread ID (allowed: 1 and above)")
        }
    }

    func run() throws {
        // Before any thread starts, so that all threads inherit the mask.
        let signals = StopSignals()
        signals.block()
        var values = watch.values.merging(selection.values) { $1 }
        values[SettingKey.duration.path] = duration.map(SettingKey.duration.value(of:))
        let settings = try Settings.load(commandLine: values, environment: ProcessInfo.processInfo.environment)
        for parameter in settings.unusedOptions { Diagnostics.report("\(parameter)") }
        try AttachRun(settings: settings, processes: processes, loops: loop).execute(signals)
    }
}
