internal import Synchronization

/// Which loop an item belongs to, and whether it is still good: the part all items of a loop have in common.
///
/// The loop holds its items and the item holds its loop; the circle is opened when the item is removed or
/// invalidated, or when the loop ends with its thread.
final class Attachment: Sendable {
    private let owner = Mutex<ObservedRunLoop?>(nil)
    private let valid = Atomic<Bool>(true)

    /// The loop the item is in now.
    var loop: ObservedRunLoop? { owner.withLock { $0 } }

    var isValid: Bool { valid.load(ordering: .acquiring) }

    /// Makes `loop` the owner, unless the item is invalid or in another loop.
    func attach(to loop: ObservedRunLoop) -> Bool {
        owner.withLock { owner in
            guard isValid else { return false }
            if let owner { return owner === loop }
            owner = loop
            return true
        }
    }

    func detach() {
        let former = owner.withLock { owner in
            defer { owner = nil }
            return owner
        }
        // Released outside the lock.
        _ = former
    }

    /// Makes the item invalid for good. True the first time. Under the lock: an `attach` that came before is seen in `loop`.
    func invalidate() -> Bool {
        owner.withLock { _ in valid.exchange(false, ordering: .acquiringAndReleasing) }
    }
}

/// Anything that can be in a mode of a loop.
protocol RunLoopItem: AnyObject, Sendable {
    var attachment: Attachment { get }
    /// Lower runs earlier; equal ones in the order they were added.
    var order: Int { get }
}

extension Array where Element: RunLoopItem {
    func contains(item: Element) -> Bool { contains { $0 === item } }

    /// Keeps the list sorted by `order`. False when the item is in it already.
    mutating func insert(item: Element) -> Bool {
        if contains(item: item) { return false }
        insert(item, at: firstIndex { $0.order > item.order } ?? endIndex)
        return true
    }

    mutating func remove(item: Element) -> Bool {
        guard let index = firstIndex(where: { $0 === item }) else { return false }
        remove(at: index)
        return true
    }
}
