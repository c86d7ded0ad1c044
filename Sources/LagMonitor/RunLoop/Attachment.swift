internal import LagModel
internal import Synchronization

/// Which loop an item belongs to, and whether it is still good: the part all items of a loop have in common.
///
/// The owner is decided here and nowhere else: `attach`, `detach` and `invalidate` are each one step under one lock, and only the present owner
/// can detach an item. A loop detaches its items with its registry locked, so an item that has an owner is in that loop's registry, or
/// is about to be put into it by the thread that holds the registry's lock.
///
/// The loop holds its items and the item holds its loop; the circle is opened when the item is removed or
/// invalidated, or when the loop ends with its thread.
final class Attachment: Sendable {
    private struct Ownership {
        var owner: ObservedRunLoop?
        /// The last owner ended with its thread, and no other loop has taken the item since.
        var isOrphaned = false
    }

    /// Where an item that something is sent to stands.
    enum Place {
        /// In a loop.
        case attached(ObservedRunLoop)
        /// In no loop; it may be added to one.
        case detached
        /// Its loop ended with its thread. It may be added to another one.
        case orphaned
        /// It is good for nothing any more.
        case invalid
    }

    /// Its place in a mode.
    struct ModePlace: Sendable {
        let mode: RunLoopMode
        let sequence: UInt64
    }

    /// The modes that it is in, the set of common ones being one, but for a timer's. Guarded by the lock of the registry of its loop.
    nonisolated(unsafe) var places: [ModePlace] = []

    private let ownership = PthreadMutex(Ownership())
    private let valid = Atomic<Bool>(true)

    /// When the item was last served in a run for one source at a time, by the loop's count of such services; 0: never. The loop's thread
    /// alone, but for the reset when an item gets into a loop, whose count is another one.
    let lastTurn = Atomic<UInt64>(0)

    /// The loop the item is in now.
    var loop: ObservedRunLoop? { ownership.withLock { $0.owner } }

    /// Whether `loop` is the owner. With the registry of `loop` locked that does not change.
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

    /// Ends the ownership of `loop`; nothing when another loop is the owner. With the registry of `loop` locked, by a thread that holds `loop`.
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

    /// Makes the item invalid for good.
    /// - Returns: whether this was the first time, and the loop that it is in, which has to take it out.
    func invalidate() -> (isFirst: Bool, loop: ObservedRunLoop?) {
        ownership.withLock { ownership in
            (valid.exchange(false, ordering: .acquiringAndReleasing), ownership.owner)
        }
    }

    /// Runs `body` in one step with finding out where the item is: neither that nor what `body` changes changes meanwhile.
    func withPlace<Result>(_ body: (Place) -> Result) -> Result {
        ownership.withLock { ownership in
            guard isValid else { return body(.invalid) }
            if ownership.isOrphaned { return body(.orphaned) }
            return body(ownership.owner.map { .attached($0) } ?? .detached)
        }
    }
}
