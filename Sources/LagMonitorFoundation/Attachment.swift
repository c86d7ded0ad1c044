internal import CoreFoundation
internal import Synchronization

/// The observers on a loop, from when they are added until they are taken out.
final class Attachment: Sendable {
    private enum State: Sendable {
        /// The loop has yet to take them.
        case wanted
        case attached(LoopParts, ObserverPair)
        /// Nothing is added any more.
        case detached
    }

    private let state = Mutex(State.wanted)

    /// The loop; nil before and after.
    var parts: LoopParts? {
        state.withLock { if case .attached(let parts, _) = $0 { parts } else { nil } }
    }

    /// Adds observers, once. Any thread.
    func attach(to loop: CFRunLoop, furtherModes: [String], telling teller: LoopTeller) {
        let parts = LoopParts(loop, furtherModes: furtherModes)
        state.withLock { state in
            guard case .wanted = state else { return }
            state = .attached(parts, ObserverPair(on: parts, telling: teller))
        }
    }

    /// Takes them out. Any thread.
    func detach() {
        state.withLock { state in
            if case .attached(let parts, let observers) = state { observers.detach(from: parts) }
            state = .detached
        }
    }
}
