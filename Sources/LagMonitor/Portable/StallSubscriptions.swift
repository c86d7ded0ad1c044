internal import LagModel
internal import LagOutput
internal import LagRunLoop

/// The receivers of a monitor's records through a ``StallSequence``.
package final class StallSubscriptions: Sendable {
    /// Records that did not fit into a buffer.
    final class Misses: Sendable {
        let count = PthreadMutex<UInt64>(0)
    }

    private struct Subscription {
        let continuation: AsyncStream<StallRecord>.Continuation
        let misses: Misses
    }

    private struct State {
        var subscriptions: [UInt64: Subscription] = [:]
        var nextID: UInt64 = 0
    }

    private let state = PthreadMutex(State())

    package init() {}

    package var count: Int { state.withLock { $0.subscriptions.count } }

    /// A separate stream for each caller, so that no two tasks ever wait for the same one. It leaves the list when it ends.
    func subscribe(_ misses: Misses, capacity: Int) -> AsyncStream<StallRecord> {
        let (stream, continuation) = AsyncStream.makeStream(of: StallRecord.self, bufferingPolicy: .bufferingOldest(capacity))
        let id = state.withLock { state in
            state.nextID += 1
            state.subscriptions[state.nextID] = Subscription(continuation: continuation, misses: misses)
            return state.nextID
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.subscriptions.removeValue(forKey: id) }
        }
        return stream
    }

    /// Reporter thread. Never waits for a subscriber.
    package func deliver(_ record: StallRecord) {
        // Outside the lock: resuming a task may run code of its executor.
        for subscription in state.withLock({ Array($0.subscriptions.values) }) {
            if case .dropped = subscription.continuation.yield(record) { subscription.misses.count.withLock { $0 += 1 } }
        }
    }

    /// Ends every subscription after its buffered records. Call it without any lock held.
    package func finish() { for end in takeAll() { end() } }

    /// Removes every subscription.
    /// - Returns: functions that each end one of them after its buffered records. Call them without any lock held.
    package func takeAll() -> [@Sendable () -> Void] {
        let taken = state.withLock { state in
            defer { state.subscriptions = [:] }
            return Array(state.subscriptions.values)
        }
        return taken.map { subscription in { subscription.continuation.finish() } }
    }
}
