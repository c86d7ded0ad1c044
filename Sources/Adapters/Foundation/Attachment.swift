internal import CoreFoundation
internal import Synchronization

/// The observers on a loop, from when they are added until they are taken out.
final class Attachment: Sendable {
    private enum State: Sendable {
        /// The loop has yet to take them.
        case wanted(LoopTeller)
        case attached(LoopParts, ObserverPair)
        /// Nothing is added any more.
        case detached
    }

    private let state: Mutex<State>
    private let furtherModes: [String]

    init(of teller: LoopTeller, furtherModes: [String]) {
        state = Mutex(.wanted(teller))
        self.furtherModes = furtherModes
    }

    /// The loop; nil before and after.
    var parts: LoopParts? {
        state.withLock { if case .attached(let parts, _) = $0 { parts } else { nil } }
    }

    /// Adds the observers, once. Any thread.
    func attach(to loop: CFRunLoop) { attach(to: LoopParts(loop, furtherModes: furtherModes)) }

    /// The same on the loop's own thread, which is taken down. Not wanted any more, it is nothing.
    func attachFromLoop() {
        guard case .wanted(let teller) = state.withLock({ $0 }) else { return }
        attach(to: CFRunLoopGetCurrent())
        teller.learn()
    }

    private func attach(to parts: LoopParts) {
        state.withLock { state in
            guard case .wanted(let teller) = state else { return }
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
