internal import Glibc
internal import LagMonitor
internal import LagRemote
internal import LagWorkload

/// `lagmond attach` from beginning to end.
struct AttachRun {
    let settings: Settings
    let processes: [Int32]
    let loops: [Int32]

    /// How often it is looked whether all processes have ended.
    private static let pollInterval: Duration = .milliseconds(100)

    /// Returns when the watch is over and all is written.
    /// - Throws: ``StartFailure`` before anything has started.
    func execute(_ signals: StopSignals) throws(StartFailure) {
        try settings.rejectUnusedSettings(on: .process)
        let configuration = try settings.monitor.forCommand(choosesRules: settings.choosesRules, CommandPolicy())
        let sink = HealthTrackingSink(try settings.openOutput())
        let live = settings.listen.map { _ in LiveLines(counts: StallCounts(places: []), context: context) }
        let subject = AttachedProcesses(processes: try begin(configuration, sink, live))
        var service: HttpService?
        if let address = settings.listen, let live {
            service = HttpService(address: address, live: live, output: sink)
            try service?.start(subject)
        }
        let reader = OutputReaderMonitor()
        if settings.output.destination == .stdout { try? reader.start(STDOUT_FILENO) }
        waitForEnd(subject.processes.map(\.watch), signals)
        if reader.isGone { Diagnostics.say("the reader of stdout has gone away: ending") }
        for process in subject.processes { process.watch.stop() }
        service?.finish()
        sink.close()
        Diagnostics.say("\(RunSummary(subject.statistics))")
    }

    private var context: ProcessContext {
        .current(serviceName: settings.monitor.serviceName, serviceVersion: settings.monitor.serviceVersion)
    }

    /// All or none: who has misspelt one number has not begun to watch the others.
    private func begin(
        _ configuration: RemoteConfiguration,
        _ sink: any RecordSink,
        _ live: LiveLines?
    ) throws(StartFailure) -> [AttachedProcess] {
        var begun: [AttachedProcess] = []
        for process in processes where !begun.contains(where: { $0.watch.process == process }) {
            let lines = LineDispatcher(live: live, target: nil)
            begun.append(try AttachedProcess(process, loops: loops, configuration: configuration, sink: sink, lines: lines))
        }
        for process in begun { try process.start() }
        return begun
    }

    private func waitForEnd(_ watches: [AttachWatch], _ signals: StopSignals) {
        let deadline = settings.duration.map { MonotonicTime.now + $0 } ?? .distantFuture
        while true {
            switch signals.wait(until: min(deadline, .now + Self.pollInterval)) {
            case .stop: return
            // One sink for all of them: once is enough.
            case .reopen: watches.first { !$0.isOver }?.reopenSink()
            case .deadlineReached: if watches.allSatisfy(\.isOver) || .now >= deadline { return }
            default: continue
            }
        }
    }
}
