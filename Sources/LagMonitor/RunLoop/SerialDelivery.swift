package import Dispatch
internal import LagModel

/// Hands events to one consumer, one at a time and in order, on a dispatch queue the consumer names.
///
/// Events may come from any number of threads at once; even on a concurrent queue the next one is delivered only after the
/// handler has returned from the one before. `deliver` never waits for the handler. While events wait, one block is on the queue.
package final class SerialDelivery<Event: Sendable>: Sendable {
    private struct State {
        var waiting = FIFOQueue<Event>()
        var isDelivering = false
        var handler: (@Sendable (Event) -> Void)?
    }

    /// After so many events in a row the queue gets a chance to run something else.
    private static var longestRun: Int { 64 }

    private let queue: DispatchQueue
    private let state: PthreadMutex<State>

    /// - Parameters:
    ///   - queue: where the handler runs; serial or concurrent.
    ///   - handler: gets the events. It may deliver more of them.
    package init(on queue: DispatchQueue, handler: @escaping @Sendable (Event) -> Void) {
        self.queue = queue
        state = PthreadMutex(State(handler: handler))
    }

    /// Puts an event in line; returns at once. Any thread.
    /// - Returns: false after ``cancel()``.
    @discardableResult
    package func deliver(_ event: Event) -> Bool {
        let (accepted, mustStart) = state.withLock { state in
            guard state.handler != nil else { return (false, false) }
            state.waiting.append(event)
            defer { state.isDelivering = true }
            return (true, !state.isDelivering)
        }
        if mustStart { queue.async { self.run() } }
        return accepted
    }

    package var waitingEvents: Int { state.withLock { $0.waiting.count } }

    /// Ends the delivery: waiting events are dropped and the handler is released, after a call in progress.
    package func cancel() {
        let released = state.withLock { state in
            defer {
                state.waiting = FIFOQueue()
                state.handler = nil
            }
            return (state.waiting, state.handler)
        }
        _ = released  // outside the lock: what the handler captured may end here
    }

    /// On the queue, never twice at a time.
    private func run() {
        for _ in 0..<Self.longestRun {
            let next: (Event, @Sendable (Event) -> Void)? = state.withLock { state in
                guard let handler = state.handler, let event = state.waiting.popFirst() else {
                    state.isDelivering = false
                    return nil
                }
                return (event, handler)
            }
            guard let (event, handler) = next else { return }
            handler(event)
        }
        queue.async { self.run() }
    }
}
