internal import Glibc
internal import LagMonitor
internal import LagMonitorOTLP
internal import LagWorkload

/// `lagmond run [options] -- COMMAND ARGUMENTS…` from beginning to end: the command runs in our place, and its loops are watched.
struct WatchedCommand {
    let settings: Settings

    /// Never returns: this process ends as the command ends.
    /// - Throws: ``StartFailure`` before the command has started.
    func execute(_ command: WrappedCommand, _ signals: InheritedSignals) throws(StartFailure) -> Never {
        let run = try WrappedRun(command, signals: signals)
        var configuration = settings.monitor
        // A wait tells that a loop came by, not that it slept: who is busy all the time is no news.
        if !settings.choosesRules { configuration.rules.starvationThreshold = nil }
        try check(configuration)
        let sink = try openOutput()
        if let obstacle = run.obstacle { Diagnostics.say("not watched: \(obstacle)") }
        signals.block()
        let watch = PageWatch(page: run.page, configuration: configuration, sink: sink) { Diagnostics.say($0) }
        do {
            try watch.start()
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "the monitor cannot start: \(error)")
        }
        let end = try run.execute()
        watch.stop()
        sink.close()
        let statistics = watch.statistics
        if statistics.stalls > 0 { Diagnostics.say("\(RunSummary(statistics)); lines in \(sink.name)") }
        WrappedProcess.leave(as: end)
    }

    private func check(_ configuration: LagMonitorConfiguration) throws(StartFailure) {
        if configuration.rules.ping != nil || configuration.rules.pingWhileWaiting != nil || configuration.rules.frame != nil {
            let allowed = "callout, starvation, sample"
            throw StartFailure(
                status: ExitStatus.configuration,
                message: "monitor.rules: a command's loops can neither be pinged nor asked to tick (allowed: \(allowed))"
            )
        }
        do {
            try configuration.validate()
        } catch {
            throw StartFailure(status: ExitStatus.configuration, message: "\(error)")
        }
    }

    private func openOutput() throws(StartFailure) -> any RecordSink {
        var output = settings.output
        // The command's stdout is the command's.
        if !settings.choosesOutput { output = OutputSettings(.file(path: WrappedRun.defaultOutput)) }
        do {
            return try output.makeSink { endpoint throws(SinkError) in
                try OTLPSink(endpoint: endpoint, headers: settings.outputHeaders)
            }
        } catch {
            throw StartFailure(status: ExitStatus.cannotCreate, message: "output: \(error)")
        }
    }
}
