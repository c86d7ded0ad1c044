internal import Synchronization

/// A fixed ring of numbers from one thread to one other. Never blocks, never allocates.
///
/// `head` is written by the taker, `tail` by the giver; each is read by the other with acquire, so that whatever the
/// giver wrote before ``give(_:)`` is seen after ``take()``.
// Unchecked: each slot is written before `tail` is released and read after it was acquired, and again before `head` lets it go.
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

    /// - Returns: false when it is full.
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

/// The episodes there are, and their two ways: free ones to the watchdog, full ones to the reporter.
///
/// As many places as episodes in each direction, so a queue cannot overflow; what can run out are free episodes, and
/// then ``takeFree()`` says so.
// Unchecked: the array is immutable; who may touch an episode is said there.
package final class EpisodeQueue: @unchecked Sendable {
    /// Stalls that may be in progress or on their way at once.
    package static let capacity = 64
    /// Frames that are kept of a stack at most.
    package static let maximumFrames = 256

    package let episodes: [Episode]
    private let free = IndexRing(capacity: EpisodeQueue.capacity)
    private let ready = IndexRing(capacity: EpisodeQueue.capacity)
    private let sockets = IndexRing(capacity: EpisodeQueue.capacity)

    /// - Returns: nil where there is no memory.
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
    /// A socket that a stalled thread waits for, by its inode: its peer is resolved now, because it may be gone when the line is made.
    /// Watchdog only.
    package func giveSocket(_ inode: UInt32) { _ = sockets.give(Int(inode)) }
    /// Reporter only.
    package func takeSocket() -> UInt32? { sockets.take().map { UInt32($0) } }
}
