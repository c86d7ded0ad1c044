internal import LagMonitor
internal import LagRemote

/// Where the lines of a run go: its sink and, where the settings ask for it, the HTTP service.
final class RunOutput: Sendable {
    let sink: HealthTrackingSink
    /// Counts the lines for `/metrics` and passes them to the clients of `/stalls`; nil: there is no service.
    let live: LiveLines?
    private let service: HttpService?

    /// - Parameters:
    ///   - sink: is open already.
    ///   - loops: known before their first stall.
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
        // What is wrong with them is an error of the monitor's start.
        context.labels = (try? settings.monitor.checkedLabels()) ?? .none
        let live = LiveLines(counts: StallCounts(places: loops), context: context)
        self.live = live
        service = HttpService(address: address, live: live, output: sink)
    }

    /// Starts the HTTP service.
    /// - Throws: ``StartFailure`` where it cannot listen.
    func serve(_ source: any HttpStatusSource) throws(StartFailure) { try service?.start(source) }

    /// Ends the HTTP service: before the sink is closed.
    func stopServing() { service?.finish() }

    /// What the monitors counted, and what the output lost when it was closed, or still keeps. Once, after the end.
    func summary(_ statistics: StallMonitorStatistics) -> RunSummary {
        RunSummary(statistics, kept: sink.keptLines, lost: sink.takeAbandonedLines(), stops: StopTimes.summary)
    }

    func close() {
        stopServing()
        sink.close()
    }
}
