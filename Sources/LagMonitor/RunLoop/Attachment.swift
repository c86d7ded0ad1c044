internal import LagModel
internal import Synchronization

/// Which loop an item belongs to, and whether it is still valid: what all items of a loop have in common.
///
/// Only this type decides the owner: `attach`, `detach` and `invalidate` are each one step under one lock, and only the present
/// owner can detach an item. A loop detaches its items with its registry locked. So an item that has an owner is in that loop's
/// registry, or the thread that holds the registry's lock is about to add it.
///
/// The loop holds its items and the item holds its loop. The cycle is broken when the item is removed or invalidated, or when the
/// loop ends with its thread.
final class Attachment: Sendable {
    private struct Ownership {
        var owner: ObservedRunLoop?
        /// The last owner ended with its thread, and no other loop has taken the item since.
        var isOrphaned = false
    }

    /// The state of an item that can be sent to.
    enum Place {
        /// In a loop.
        case attached(ObservedRunLoop)
        /// In no loop; it may be added to one.
        case detached
        /// Its loop ended with its thread. It may be added to another one.
        case orphaned
        /// Permanently unusable.
        case invalid
    }

    /// Its place in a mode.
    struct ModePlace: Sendable {
        let mode: RunLoopMode
        let sequence: UInt64
    }

    /// The modes that it is in, where the set of common modes counts as one; not used for timers. Guarded by the lock of its
    /// loop's registry.
    nonisolated(unsafe) var places: [ModePlace] = []

    private let ownership = PthreadMutex(Ownership())
    private let valid = Atomic<Bool>(true)

    /// When the item was last served in a run for one source at a time, by the loop's count of such services; 0: never. Written
    /// only by the loop's thread, except for the reset when an item is added to a loop, whose count is a different one.
    let lastTurn = Atomic<UInt64>(0)

    /// The loop the item is in now.
    var loop: ObservedRunLoop? { ownership.withLock { $0.owner } }

    /// Whether `loop` is the owner. This does not change while the registry of `loop` is locked.
    func isOwned(by loop: ObservedRunLoop) -> Bool { ownership.withLock { $0.owner === loop } }

    var isValid: Bool { valid.load(ordering: .acquiring) }

    /// Makes `loop` the owner, unless the item is invalid or in another loop. With the registry of `loop` locked.
    func attach(to loop: ObservedRunLoop) -> Bool {
        ownership.withLock { ownership in
            guard isValid else { return false }
            if let owner = ownership.owner { return owner === loop }
            ownership.owner = loop
            ownership.isOrphaned = false
            lastTurn.store(0, ordering: .relaxed)
            return true
        }
    }

    /// Ends the ownership of `loop`; does nothing if another loop is the owner. Call with the registry of `loop` locked, on a
    /// thread that holds `loop`.
    /// - Parameter ended: the loop ends with its thread.
    func detach(from loop: ObservedRunLoop, ended: Bool = false) {
        ownership.withLock { ownership in
            guard ownership.owner === loop else { return }
            ownership.owner = nil
            ownership.isOrphaned = ended
            places = []
        }
    }

    /// When it was added to a mode; nil: it is not in it. With the registry of its loop locked.
    func sequence(in mode: RunLoopMode) -> UInt64? { places.first { $0.mode == mode }?.sequence }

    /// Makes the item permanently invalid.
    /// - Returns: whether this was the first time, and its loop, which has to remove it.
    func invalidate() -> (isFirst: Bool, loop: ObservedRunLoop?) {
        ownership.withLock { ownership in
            (valid.exchange(false, ordering: .acquiringAndReleasing), ownership.owner)
        }
    }

    /// Runs `body` atomically with reading the item's place: the place does not change meanwhile, nor does what `body` changes.
    func withPlace<Result>(_ body: (Place) -> Result) -> Result {
        ownership.withLock { ownership in
            guard isValid else { return body(.invalid) }
            if ownership.isOrphaned { return body(.orphaned) }
            return body(ownership.owner.map { .attached($0) } ?? .detached)
        }
    }
}
