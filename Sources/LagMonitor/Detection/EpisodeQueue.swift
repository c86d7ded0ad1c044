internal import Synchronization

/// A fixed ring of numbers from one producer thread to one consumer thread. Never blocks, never allocates.
///
/// The consumer writes `head`, the producer `tail`; each reads the other's with acquire, so what the producer wrote before
/// ``give(_:)`` is visible after ``take()``.
// Unchecked: each slot is written before `tail` is released, read after it was acquired, and not written again before `head`
// releases it.
struct IndexRing: ~Copyable, @unchecked Sendable {
    private let slots: UnsafeMutablePointer<UInt32>
    private let mask: Int
    private let head = Atomic<Int>(0)
    private let tail = Atomic<Int>(0)

    /// - Parameter capacity: a power of two.
    init(capacity: Int) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "a ring's capacity is a power of two, not \(capacity)")
        mask = capacity - 1
        slots = .allocate(capacity: capacity)
        slots.initialize(repeating: 0, count: capacity)
    }

    deinit { slots.deallocate() }

    /// - Returns: false if it is full.
    func give(_ number: Int) -> Bool {
        let at = tail.load(ordering: .relaxed)
        guard at - head.load(ordering: .acquiring) <= mask else { return false }
        slots[at & mask] = UInt32(number)
        tail.store(at + 1, ordering: .releasing)
        return true
    }

    func take() -> Int? {
        let at = head.load(ordering: .relaxed)
        guard at != tail.load(ordering: .acquiring) else { return nil }
        let number = Int(slots[at & mask])
        head.store(at + 1, ordering: .releasing)
        return number
    }
}

/// All episodes and two queues of them: free ones for the watchdog, full ones for the reporter.
///
/// Each queue has as many places as there are episodes, so it cannot overflow; if no episode is free, ``takeFree()`` returns nil.
// Unchecked: the array is immutable; Episode documents which thread may access an episode.
package final class EpisodeQueue: @unchecked Sendable {
    /// How many stalls may be in progress or in a queue at once.
    package static let capacity = 64
    /// The maximum number of frames kept of a stack.
    package static let maximumFrames = 256

    package let episodes: [Episode]
    private let free = IndexRing(capacity: EpisodeQueue.capacity)
    private let ready = IndexRing(capacity: EpisodeQueue.capacity)
    private let sockets = IndexRing(capacity: EpisodeQueue.capacity)

    /// - Returns: nil if there is no memory.
    package init?(maximumFrames: Int) {
        episodes = (0..<Self.capacity).compactMap { _ in Episode(maximumFrames: maximumFrames) }
        guard episodes.count == Self.capacity else { return nil }
        for index in 0..<Self.capacity { _ = free.give(index) }
    }

    /// Watchdog only.
    package func takeFree() -> Int? { free.take() }
    /// Watchdog only.
    package func giveReady(_ index: Int) { _ = ready.give(index) }
    /// Reporter only.
    package func takeReady() -> Int? { ready.take() }
    /// Reporter only.
    package func giveFree(_ index: Int) {
        episodes[index].tally.release()
        _ = free.give(index)
    }
    /// A socket, by its inode, for which a stalled thread waits: its peer is resolved now, because it may be gone when the line
    /// is written. Watchdog only.
    package func giveSocket(_ inode: UInt32) { _ = sockets.give(Int(inode)) }
    /// Reporter only.
    package func takeSocket() -> UInt32? { sockets.take().map { UInt32($0) } }
}
