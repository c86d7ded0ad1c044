package import Dispatch
internal import LagOutput
internal import LagRunLoop
internal import Synchronization

/// Delivers stalls to an embedder: one at a time, in order, on the queue the embedder names.
///
/// At most ``capacity`` records wait for a queue that is itself stuck; further ones are counted in ``missed`` instead
/// of filling the memory.
public final class StallHandler: Sendable {
    /// Records that may wait for the queue, besides the one that is being delivered.
    public static let capacity = 256

    private let delivery: SerialDelivery<StallRecord>
    private let missedCount = Atomic<UInt64>(0)
    private let cancelled = Atomic<Bool>(false)

    /// It gets also what a limit holds back.
    package let includesSuppressed: Bool

    package init(queue: DispatchQueue, includesSuppressed: Bool = false, body: @escaping @Sendable (StallRecord) -> Void) {
        self.includesSuppressed = includesSuppressed
        delivery = SerialDelivery(on: queue, handler: body)
    }

    /// Records that were not delivered because the queue did not keep up.
    public var missed: UInt64 { missedCount.load(ordering: .relaxed) }

    /// Ends the delivery; what the handler captured is released. Any thread.
    public func cancel() {
        cancelled.store(true, ordering: .releasing)
        delivery.cancel()
    }

    package var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    /// Reporter thread.
    func deliver(_ record: StallRecord) {
        if delivery.waitingEvents < Self.capacity {
            delivery.deliver(record)
        } else {
            missedCount.add(1, ordering: .relaxed)
        }
    }
}
