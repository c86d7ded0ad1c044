internal import Glibc
internal import LagMonitor
internal import LagMonitorOTLP
internal import LagWorkload

/// `lagmond attach` from beginning to end.
struct AttachRun {
    let settings: Settings
    let processes: [Int32]
    let loops: [Int32]

    /// How often it is looked whether all processes have ended.
    private static let look: Duration = .milliseconds(100)

    /// Returns when the watch is over and all is written.
    /// - Throws: ``StartFailure`` before anything has started.
    func execute(_ signals: StopSignals) throws(StartFailure) {
        try refuseWorkloadSettings()
        let configuration = try OutsideRules.configuration(settings)
        let sink = try openOutput()
        let watches = try begin(configuration, sink)
        let reader = ReaderWatch()
        if settings.output.destination == .stdout { try? reader.start(STDOUT_FILENO) }
        waitForEnd(watches, signals)
        if reader.isGone { Diagnostics.say("the reader of stdout has gone away: ending") }
        for watch in watches { watch.stop() }
        sink.close()
        var statistics = LagMonitorStatistics()
        for watch in watches { statistics += watch.statistics }
        Diagnostics.say("\(RunSummary(statistics))")
    }

    /// All or none: who has misspelt one number has not begun to watch the others.
    private func begin(_ configuration: LagMonitorConfiguration, _ sink: any RecordSink) throws(StartFailure) -> [AttachWatch] {
        var watches: [AttachWatch] = []
        do throws(AttachRefusal) {
            for process in processes where !watches.contains(where: { $0.process == process }) {
                let watch = try AttachWatch(process: process, loops: loops, configuration: configuration, sink: sink) {
                    Diagnostics.say($0)
                }
                watches.append(watch)
            }
        } catch {
            throw StartFailure(status: error.status, message: "\(error)")
        }
        do throws(LagMonitorError) {
            for watch in watches { try watch.start() }
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "the watch cannot start: \(error)")
        }
        return watches
    }

    private func waitForEnd(_ watches: [AttachWatch], _ signals: StopSignals) {
        let deadline = settings.duration.map { MonotonicTime.now + $0 } ?? .distantFuture
        while true {
            switch signals.wait(until: min(deadline, .now + Self.look)) {
            case .stop: return
            case .reopen:
                // One sink for all of them: once is enough.
                watches.first { !$0.isOver }?.reopenSink()
            case .timeOver:
                if watches.allSatisfy(\.isOver) || .now >= deadline { return }
            }
        }
    }

    /// What would be ignored.
    private func refuseWorkloadSettings() throws(StartFailure) {
        var names: [String] = []
        if settings.truthPath != nil { names.append(SettingKey.truth.path) }
        if settings.choosesUnfinished { names.append(SettingKey.unfinished.path) }
        if !settings.steps.isEmpty { names.append("workload.steps") }
        guard !names.isEmpty else { return }
        throw StartFailure(
            status: ExitStatus.configuration,
            message:
                "\(names.joined(separator: ", ")): without effect on a process that runs already (allowed: only with a workload)"
        )
    }

    private func openOutput() throws(StartFailure) -> any RecordSink {
        do {
            return try settings.output.makeSink { endpoint throws(SinkError) in
                try OTLPSink(endpoint: endpoint, headers: settings.outputHeaders)
            }
        } catch {
            throw StartFailure(status: ExitStatus.cannotCreate, message: "output: \(error)")
        }
    }
}

extension AttachRefusal {
    /// With what lagmond ends.
    fileprivate var status: Int32 {
        switch self {
        case .notPermitted, .hidden: ExitStatus.notPermitted
        default: ExitStatus.noInput
        }
    }
}

extension ExitStatus {
    /// The kernel does not let us look into a process.
    static let notPermitted: Int32 = 77
}
