internal import Glibc
internal import LagMonitor
internal import LagWorkload
internal import Synchronization

/// Ends the run, whatever the main thread is doing: a separate thread waits for the signals and the deadline, then
/// drains the output and exits the process. The main thread may hang forever.
final class RunControl: Sendable {
    private let monitor: StallMonitor
    private let output: RunOutput
    private let workload: Workload
    private let truth: TruthLog?
    private let reader: OutputReaderMonitor
    private let deadline: MonotonicTime
    /// Whether one of the two threads that may end the process has begun its summary.
    private let isEnding = Atomic<Bool>(false)

    init(
        monitor: StallMonitor,
        output: RunOutput,
        workload: Workload,
        truth: TruthLog?,
        reader: OutputReaderMonitor,
        deadline: MonotonicTime
    ) {
        self.monitor = monitor
        self.output = output
        self.workload = workload
        self.truth = truth
        self.reader = reader
        self.deadline = deadline
    }

    func start(_ signals: StopSignals) throws(StartFailure) {
        try HelperThread.start("run-control") { [self] in
            while true {
                switch signals.wait(until: deadline) {
                case .reopen:
                    monitor.reopenSinks()
                    truth?.reopen()
                case .stop:
                    reader.report()
                    end()
                case .child: break
                case .deadlineReached: end()
                }
            }
        }
    }

    /// Never returns. The order matters: the workload first, so that no new stall begins; then the monitor, which
    /// writes the remaining lines; then the process, without exit handlers, which a hanging main thread could block.
    private func end() -> Never {
        startShutdownTimeout()
        workload.end(grace: Self.grace)
        monitor.stop()
        output.stopServing()
        exitProcess()
    }

    /// Called by both threads; the summary is that of the first. The shutdown timeout also limits the other's summary.
    private func exitProcess(isCutShort: Bool = false) -> Never {
        if isEnding.exchange(true, ordering: .acquiringAndReleasing) {
            while !isCutShort { pause() }
            sleepUntil(.now + Self.summaryTime)
            _exit(ExitStatus.success)
        }
        if isCutShort { Diagnostics.report("the last lines were not written in time") }
        WorkloadChild.kill()
        Diagnostics.report("\(output.summary(monitor.statistics, isCutShort: isCutShort))")
        Diagnostics.flush()
        _exit(ExitStatus.success)
    }

    /// A reader that neither reads nor closes the pipe could block the last lines and thus the exit.
    private func startShutdownTimeout() {
        try? HelperThread.start("stop-timeout") { [self] in
            sleepUntil(.now + Self.shutdownTimeout)
            exitProcess(isCutShort: true)
        }
    }

    /// The time for an execution in progress to finish; a hang gets none.
    private static let grace: Duration = .milliseconds(500)
    /// Below the two seconds that are documented.
    private static let shutdownTimeout: Duration = .milliseconds(1800)
    /// For a summary that is being written at the timeout.
    private static let summaryTime: Duration = .milliseconds(100)
}
