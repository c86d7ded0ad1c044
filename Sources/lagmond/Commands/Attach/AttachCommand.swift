internal import ArgumentParser
internal import Foundation
internal import LagMonitor

/// `lagmond attach`: watches processes that run already.
struct AttachCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attach",
        abstract: "Watch the loops of a process that runs already, without its help.",
        discussion: """
            What the kernel tells of a thread says whether it rests or works. The process is neither changed nor stopped, but for some \
            microseconds while the stack of a running thread is copied. Ends with the process (or all of them), or by SIGTERM or SIGINT.

            Threads that rest in epoll_wait, poll or select are found by themselves; --loop names others.
            """
    )

    @Option(help: ArgumentHelp("The process; may be given several times.", valueName: "pid"))
    var pid: [Int32]

    @Option(help: ArgumentHelp("Watch this thread and no other that is not named; may be given several times.", valueName: "tid"))
    var loop: [Int32] = []

    @Option(help: ArgumentHelp("How long to watch; without it, until the end.", valueName: "seconds"))
    var duration: Double?

    @OptionGroup
    var watch: WatchOptions

    func validate() throws {
        if !loop.isEmpty, pid.count > 1 {
            throw ValidationError("--loop: which of the processes is meant? (allowed: with one --pid)")
        }
        for number in pid + loop where number <= 0 {
            throw ValidationError("\(number): no number of a process or thread (allowed: 1 and above)")
        }
    }

    func run() throws {
        // Before any thread exists, so that all of them inherit the mask.
        let signals = StopSignals()
        signals.block()
        var values = watch.values
        values[SettingKey.duration.path] = duration.map(JSONValue.double)
        let settings = try Settings.load(commandLine: values, environment: ProcessInfo.processInfo.environment)
        for parameter in settings.unusedOptions { Diagnostics.report("\(parameter)") }
        try AttachRun(settings: settings, processes: pid, loops: loop).execute(signals)
    }
}
