internal import Glibc
internal import LagMonitor
internal import LagRemote

/// `lagmond attach` from beginning to end.
struct AttachRun {
    let settings: Settings
    let processes: [Int32]
    let loops: [Int32]

    /// How often it checks whether the processes have exited.
    private static let pollInterval: Duration = .milliseconds(100)

    /// Returns when the watch is over and everything is written.
    /// - Throws: ``StartFailure`` before anything has started.
    func execute(_ signals: StopSignals) throws(StartFailure) {
        try settings.rejectUnusedSettings(on: .process)
        Diagnostics.beginQueueing()
        let configuration = try settings.remoteConfiguration()
        let output = RunOutput(settings, sink: try settings.openOutput())
        try settings.reportUnfinished(to: output.sink)
        let subject = AttachedProcesses(processes: try begin(configuration, output))
        try output.serve(subject)
        let reader = OutputReaderMonitor()
        if settings.output.destination == .stdout { try? reader.start(STDOUT_FILENO) }
        waitForEnd(subject.processes, signals)
        reader.report()
        for process in subject.processes { process.watch.stop() }
        output.close()
        let loops = subject.processes.reduce(0) { $0 + $1.watch.begunLoops }
        Diagnostics.report("\(output.summary(subject.statistics)); watched loops: \(loops)")
        Diagnostics.flush()
    }

    /// All or none: if one process ID is wrong, the others are not watched either.
    private func begin(_ configuration: RemoteConfiguration, _ output: RunOutput) throws(StartFailure) -> [AttachedProcess] {
        var begun: [AttachedProcess] = []
        for process in processes where !begun.contains(where: { $0.watch.process == process }) {
            let lines = LineDispatcher(live: output.live, target: nil)
            begun.append(
                try AttachedProcess(process, loops: loops, configuration: configuration, sink: output.sink, lines: lines)
            )
        }
        for process in begun { try process.start() }
        return begun
    }

    private func waitForEnd(_ processes: [AttachedProcess], _ signals: StopSignals) {
        let watches = processes.map(\.watch)
        let deadline = settings.deadline
        var report = AttachReport()
        while true {
            report.update(processes.flatMap(\.watchedProcesses))
            switch signals.wait(until: min(deadline, .now + Self.pollInterval)) {
            case .stop: return
            // All watches share one sink: reopening it once is enough.
            case .reopen: watches.first { !$0.isOver }?.reopenSink()
            case .deadlineReached: if watches.allSatisfy(\.isOver) || .now >= deadline { return }
            default: continue
            }
        }
    }
}
