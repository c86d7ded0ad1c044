package import Dispatch
internal import LagModel
internal import LagOutput
internal import Synchronization

/// Delivers stalls to an embedder: one at a time, in order, on the queue that the embedder names.
///
/// At most ``capacity`` records wait for a queue that is itself stuck; further ones are counted in ``missed`` instead
/// of filling the memory.
public final class StallHandler: Sendable {
    /// Records that may wait for the queue, besides the one that is being delivered.
    public static let capacity = 256

    /// One call at a time and in order, even if the embedder's queue is concurrent.
    private let queue: DispatchQueue
    /// nil: cancelled.
    private let body: PthreadMutex<(@Sendable (StallRecord) -> Void)?>
    private let waitingCount = Atomic<Int>(0)
    private let missedCount = Atomic<UInt64>(0)

    /// It also receives what a limit holds back.
    package let includesSuppressed: Bool

    package init(queue: DispatchQueue, includesSuppressed: Bool = false, body: @escaping @Sendable (StallRecord) -> Void) {
        self.includesSuppressed = includesSuppressed
        self.queue = DispatchQueue(label: "lagmonitor.handler", target: queue)
        self.body = PthreadMutex(body)
    }

    /// Records that were not delivered because the queue did not keep up.
    public var missed: UInt64 { missedCount.load(ordering: .relaxed) }

    /// Ends the delivery: after a call in progress, waiting records are dropped, and what the handler captured is released. Any
    /// thread.
    public func cancel() {
        // Released outside the lock: what the handler captured may be deinitialised here.
        _ = body.withLock { body in
            defer { body = nil }
            return body
        }
    }

    package var isCancelled: Bool { body.withLock { $0 == nil } }

    /// Never waits for the handler. Reporter thread.
    func deliver(_ record: StallRecord) {
        guard waitingCount.load(ordering: .relaxed) < Self.capacity else {
            missedCount.add(1, ordering: .relaxed)
            return
        }
        waitingCount.add(1, ordering: .relaxed)
        queue.async {
            self.waitingCount.subtract(1, ordering: .relaxed)
            self.body.withLock { $0 }?(record)
        }
    }
}
