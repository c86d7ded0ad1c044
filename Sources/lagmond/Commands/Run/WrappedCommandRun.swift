internal import Glibc
internal import LagMonitor
internal import LagWorkload

/// `lagmond run [options] -- COMMAND ARGUMENTS…` from beginning to end: the command runs in our place, and its loops are watched.
struct WrappedCommandRun {
    let settings: Settings

    /// Never returns: this process ends as the command ends.
    /// - Throws: ``StartFailure`` before the command has started.
    func execute(_ command: WrappedCommand, _ signals: InheritedSignals) throws(StartFailure) -> Never {
        try settings.rejectUnusedSettings(on: .command)
        let run = try CommandLauncher(command, signals: signals)
        let configuration = try settings.monitor.forCommand(choosesRules: settings.choosesRules, settings.policy)
        let sink = HealthTrackingSink(try CommandOutput(settings: settings).open())
        signals.block()
        let live = settings.listen.map { _ in LiveLines(counts: StallCounts(places: []), context: context) }
        let watch = CommandWatch(
            name: nil,
            loopTable: run.loopTable,
            configuration: configuration,
            policy: settings.policy,
            sink: sink,
            live: live
        )
        try watch.start()
        var service: HttpService?
        if let address = settings.listen, let live {
            service = HttpService(address: address, live: live, output: sink)
            try service?.start(SingleCommandStatus(watch: watch))
        }
        let end = try supervise(run, watch)
        watch.stop()
        service?.finish()
        sink.close()
        let statistics = watch.statistics
        // A command that did not stall ends as if nobody had been there.
        if statistics.stalls > 0 { Diagnostics.say("\(RunSummary(statistics)); lines in \(sink.name)") }
        WrappedProcess.exitProcess(as: end)
    }

    private var context: ProcessContext {
        .current(serviceName: settings.monitor.serviceName, serviceVersion: settings.monitor.serviceVersion)
    }

    /// - Returns: How the command ended, the last time.
    /// - Throws: ``StartFailure`` when it cannot be started for the first time.
    private func supervise(_ run: CommandLauncher, _ watch: CommandWatch) throws(StartFailure) -> WrappedProcess.Termination {
        var hasRun = false
        while true {
            let next: CommandLifecycle.Next
            do throws(StartFailure) {
                let process = try run.start()
                hasRun = true
                watch.lifecycle.started(process)
                if let obstacle = run.obstacle { watch.attach(to: process.pid, because: obstacle) }
                next = watch.lifecycle.ended(process.supervise { watch.lifecycle.recordEndSignal() })
            } catch {
                guard hasRun else { throw error }
                next = watch.lifecycle.failedToStart(error)
            }
            switch next {
            case .finish(let end): return end
            case .restart(let delay):
                if let signal = WrappedProcess.waitWithoutCommand(for: delay) { return .killed(signal) }
            }
        }
    }
}

/// What the pages show of a command in our place.
private struct SingleCommandStatus: HttpStatusSource {
    let watch: CommandWatch

    func isWatching() async -> Bool { await watch.isWatching() }
    var statistics: StallMonitorStatistics { watch.statistics }
    var lags: [StallCounts.LoopKey: UInt64] { watch.lags }
    var targets: [TargetStatus] { [watch.status] }
}
