internal import LagModel

/// When something about a resting thread is read again: at a steady pace while the thread moves, and ever more seldom while it
/// sleeps in one and the same rest, in which only other threads can change anything. Pure.
struct RestPace: Sendable {
    /// While the thread moves.
    private let shortestNanoseconds: UInt64
    private var hasMoved = true
    private var doneNanoseconds: UInt64 = 0
    private var gapNanoseconds: UInt64 = 0

    /// The first gap of a rest, and the longest one. Each is twice as long as the one before.
    static let firstNanoseconds: UInt64 = 100_000_000
    static let longestNanoseconds: UInt64 = 10_000_000_000

    init(shortestNanoseconds: UInt64) { self.shortestNanoseconds = shortestNanoseconds }

    /// Whether it is time.
    /// - Parameter isUnmoved: whether the thread has slept since the last call.
    mutating func isDue(at now: UInt64, isUnmoved: Bool) -> Bool {
        if !isUnmoved { hasMoved = true }
        return now >= doneNanoseconds.saturatingSum(hasMoved ? shortestNanoseconds : gapNanoseconds)
    }

    /// Call it when it was read.
    mutating func recordDone(at now: UInt64) {
        gapNanoseconds = hasMoved ? Self.firstNanoseconds : min(2 * gapNanoseconds, Self.longestNanoseconds)
        hasMoved = false
        doneNanoseconds = now
    }
}
