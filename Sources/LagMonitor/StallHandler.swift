internal import Dispatch
internal import LagReport
internal import Synchronization

/// Delivers stalls to an embedder: one at a time, in order, on the queue the embedder names.
///
/// At most ``capacity`` records wait for a queue that is itself stuck; further ones are counted in ``missed`` instead
/// of filling the memory.
public final class StallHandler: Sendable {
    /// Records that may wait for the queue.
    public static let capacity = 256

    private let queue: DispatchQueue
    private let body: @Sendable (StallRecord) -> Void
    private let waiting = Atomic<Int>(0)
    private let missedCount = Atomic<UInt64>(0)

    init(queue: DispatchQueue, body: @escaping @Sendable (StallRecord) -> Void) {
        // A serial queue on top keeps the promise also when the target runs things concurrently.
        self.queue = DispatchQueue(label: "lagmonitor.handler", target: queue)
        self.body = body
    }

    /// Records that were not delivered because the queue did not keep up.
    public var missed: UInt64 { missedCount.load(ordering: .relaxed) }

    func deliver(_ record: StallRecord) {
        guard waiting.load(ordering: .relaxed) < Self.capacity else {
            missedCount.add(1, ordering: .relaxed)
            return
        }
        waiting.add(1, ordering: .relaxed)
        queue.async { [self] in
            body(record)
            waiting.subtract(1, ordering: .relaxed)
        }
    }
}
