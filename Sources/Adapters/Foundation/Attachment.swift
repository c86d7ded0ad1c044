internal import CoreFoundation
internal import Synchronization

/// The observers on a loop, from their addition to their removal.
final class Attachment: Sendable {
    private enum State: Sendable {
        /// The loop has yet to add them.
        case pending(LoopActivityPublisher)
        case attached(RunLoopTarget, ObserverPair)
        /// Nothing is added any more.
        case detached
    }

    private let state: Mutex<State>
    private let additionalModes: [String]

    init(of publisher: LoopActivityPublisher, additionalModes: [String]) {
        state = Mutex(.pending(publisher))
        self.additionalModes = additionalModes
    }

    /// The loop; nil before and after.
    var target: RunLoopTarget? {
        state.withLock { if case .attached(let target, _) = $0 { target } else { nil } }
    }

    /// Adds the observers, once. Any thread.
    func attach(to loop: CFRunLoop) { attach(to: RunLoopTarget(loop, additionalModes: additionalModes)) }

    /// The same on the loop's own thread, which is recorded. Does nothing if it is no longer wanted.
    func attachFromLoop() {
        guard case .pending(let publisher) = state.withLock({ $0 }) else { return }
        attach(to: CFRunLoopGetCurrent())
        publisher.recordThread()
    }

    private func attach(to target: RunLoopTarget) {
        state.withLock { state in
            guard case .pending(let publisher) = state else { return }
            state = .attached(target, ObserverPair(on: target, publishingTo: publisher))
        }
    }

    /// Removes them. Any thread.
    func detach() {
        state.withLock { state in
            if case .attached(let target, let observers) = state { observers.detach(from: target) }
            state = .detached
        }
    }
}
