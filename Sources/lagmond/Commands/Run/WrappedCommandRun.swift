internal import Glibc
internal import LagMonitor

/// `lagmond run [options] -- COMMAND ARGUMENTS…` from beginning to end: the command runs in lagmond's place, and its loops are
/// watched.
struct WrappedCommandRun {
    let settings: Settings

    /// Never returns: this process exits the way the command does.
    /// - Throws: ``StartFailure`` before the command has started.
    func execute(_ command: WrappedCommand, _ signals: InheritedSignals) throws(StartFailure) -> Never {
        try settings.rejectUnusedSettings(on: .command)
        signals.block()
        Diagnostics.beginQueueing()
        let launcher = try CommandLauncher(
            command,
            signals: signals,
            environment: settings.writesPerfMaps ? .current().withPerfMaps() : .current()
        )
        let configuration = try settings.remoteConfiguration()
        let output = RunOutput(settings, sink: try CommandOutput(settings: settings).open())
        try settings.reportUnfinished(to: output.sink)
        let watch = CommandWatch(
            name: nil,
            launcher: launcher,
            configuration: configuration,
            policy: settings.policy,
            sink: output.sink,
            live: output.live,
            requiresWatch: settings.requiresWatch
        )
        do throws(StartFailure) {
            try watch.start()
        } catch {
            guard !settings.requiresWatch else { throw error }
            Diagnostics.report("not watched: \(error.message)")
        }
        try output.serve(watch)
        let end = watch.supervise(try watch.startCommand(ownSession: false), ownSession: false) { process in
            process.supervise { signal in
                watch.lifecycle.recordEndSignal(signal)
            } afterEndSignal: { time in
                watch.reportStalls(endingAt: time)
            }
        } pause: { delay in
            signals.waitWithoutCommand(for: delay).map { .killed($0) }
        }
        // When the first process of a container exits, the kernel kills all others.
        var remaining = getpid() == 1 ? nil : watch.remainingProcesses
        watch.stop()
        output.close()
        remaining?.settle()
        let daemons = remaining?.message(isWatchOver: true)
        if let daemons { Diagnostics.report(daemons) }
        let statistics = watch.statistics
        Diagnostics.report(
            "\(output.summary(statistics)); watched loops: \(watch.begunLoops)"
                + (watch.lacksSlots ? " (not all: the table was full)" : "")
                + output.place(statistics)
        )
        // Processes that should be watched keep running unwatched.
        let isUnwatched = settings.requiresWatch && daemons != nil && !end.isFailure
        WrappedProcess.exitProcess(as: isUnwatched ? .exited(ExitStatus.unavailable) : end)
    }
}
