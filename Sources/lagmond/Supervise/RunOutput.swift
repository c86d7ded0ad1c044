internal import LagModel
internal import LagMonitor
internal import LagRemote

/// The output of a run's lines: its sink and, if the settings enable it, the HTTP service.
final class RunOutput: Sendable {
    let sink: HealthTrackingSink
    /// Counts the lines for `/metrics` and passes them to the clients of `/stalls`; nil: no service.
    let live: LiveLines?
    private let service: HttpService?

    /// - Parameters:
    ///   - sink: an open sink.
    ///   - loops: the loops that are known before their first stall.
    init(_ settings: Settings, sink: any RecordSink, loops: [StallCounts.LoopKey] = []) {
        let sink = HealthTrackingSink(sink)
        self.sink = sink
        guard let address = settings.listen else {
            (live, service) = (nil, nil)
            return
        }
        var context = ProcessContext.current(
            serviceName: settings.monitor.serviceName,
            serviceVersion: settings.monitor.serviceVersion
        )
        context.readResource()
        // Errors in the labels are reported when the monitor starts.
        context.labels = (try? settings.monitor.checkedLabels()) ?? .none
        let live = LiveLines(counts: StallCounts(places: loops), context: context)
        self.live = live
        service = HttpService(address: address, live: live, output: sink)
    }

    /// Starts the HTTP service.
    /// - Throws: ``StartFailure`` if it cannot listen.
    func serve(_ source: any HttpStatusSource) throws(StartFailure) { try service?.start(source) }

    /// Ends the HTTP service. Call it before the sink is closed.
    func stopServing() { service?.finish() }

    /// The monitors' counts, and the lines that the output lost when it was closed, or still keeps. Call it once, after the end.
    /// - Parameter isCutShort: the monitor had no time to write its last lines: they are lost.
    func summary(_ statistics: StallMonitorStatistics, isCutShort: Bool = false) -> RunSummary {
        let kept = sink.keptLines
        let unwritten = isCutShort ? statistics.stallsWithoutLine.saturatingDifference(UInt64(kept ?? 0)) : 0
        return RunSummary(statistics, kept: kept, lost: sink.takeAbandonedLines() + unwritten, stops: StopTimes.summary)
    }

    /// Where the lines are, for the end of the summary; empty if there is none.
    func place(_ statistics: StallMonitorStatistics) -> String { statistics.reported > 0 ? "; lines in \(sink.name)" : "" }

    func close() {
        stopServing()
        sink.close()
    }
}

extension StallMonitorStatistics {
    /// Stalls that were found, but neither written, nor held back, nor counted as lost. (A hang has two lines, so there may be
    /// more.)
    var stallsWithoutLine: UInt64 { stalls.saturatingDifference(reported + dropped + suppressed) }
}
