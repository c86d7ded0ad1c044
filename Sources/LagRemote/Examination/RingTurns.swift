/// Whether the program takes completions from its ring of io_uring: where there are any it does so without a call, and that is a turn of its loop.
///
/// One owner's, under its lock. What is asked at each look is how many it has taken since the ring exists.
struct RingTurns {
    /// Looks of two threads may come one after the other.
    private static let fetchNanoseconds: UInt64 = 40_000_000

    private var stretch: UInt64 = .max
    private var count: UInt32?
    /// When it was first found to be more than before; 0: it was not.
    private var changeNanoseconds: UInt64 = 0

    /// Whether it has taken some since the last look in this stretch of work: what it had taken when the stretch began is what it works at.
    /// - Parameter count: nil: the loop waits on no ring.
    mutating func hasFetched(_ count: UInt32?, in stretch: UInt64, at now: UInt64) -> Bool {
        guard let count else { return false }
        if self.stretch != stretch {
            self = RingTurns()
            self.stretch = stretch
        }
        if let before = self.count, before != count { changeNanoseconds = now }
        self.count = count
        return changeNanoseconds > 0 && now < changeNanoseconds &+ Self.fetchNanoseconds
    }
}
