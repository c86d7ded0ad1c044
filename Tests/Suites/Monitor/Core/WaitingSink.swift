import Dispatch
import LagMonitor
import Synchronization

/// A destination that is never read: each line waits until waiting is limited, and then fails.
final class WaitingSink: RecordSink {
    let name = "never read"
    private let limit = Atomic<UInt64>(.max)

    func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        while DispatchTime.now().uptimeNanoseconds < limit.load(ordering: .relaxed) { usleep(20_000) }
        throw SinkError(.writeFailed, path: name, code: EAGAIN)
    }

    func limitWaiting(untilMonotonicNanoseconds deadline: UInt64?) { limit.store(deadline ?? .max, ordering: .relaxed) }
    func close() {}
}
