import Glibc
import LagMonitor
import Synchronization

/// A destination that is never read: each line waits until waiting is limited, and then fails, at most 20 ms later.
public final class WaitingSink: RecordSink {
    public let name = "never read"
    private let limit = Atomic<UInt64>(.max)
    private let writing = Atomic(false)

    public init() {}

    public var isWriting: Bool { writing.load(ordering: .acquiring) }
    public var isLimited: Bool { limit.load(ordering: .relaxed) != .max }

    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        writing.store(true, ordering: .releasing)
        repeat { usleep(20_000) } while MonotonicTime.now.nanoseconds < limit.load(ordering: .relaxed)
        throw SinkError(.writeFailed, path: name, code: EAGAIN)
    }

    public func limitWaiting(until deadline: MonotonicTime?) { limit.store(deadline?.nanoseconds ?? .max, ordering: .relaxed) }
    public func close() {}
}
