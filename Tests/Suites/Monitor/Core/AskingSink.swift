import LagModel
import LagMonitor
import Synchronization

/// Queries its monitor for each line.
final class AskingSink: RecordSink {
    let name = "asking"
    let monitor = PthreadMutex<StallMonitor?>(nil)
    let answers = Atomic<Int>(0)

    func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        guard let monitor = monitor.withLock({ $0 }) else { return }
        _ = (monitor.statistics, monitor.isRunning)
        answers.add(1, ordering: .acquiringAndReleasing)
    }

    func close() {}
}
