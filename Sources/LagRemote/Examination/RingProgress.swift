/// Whether the program takes completions from its ring of io_uring: it does so without a call if there are any, and that is an
/// iteration of its loop.
///
/// One owner's, under its lock. Each examination reads how many it has taken since the ring was created.
struct RingProgress {
    /// Examinations by two threads may follow each other.
    private static let fetchNanoseconds: UInt64 = 40_000_000

    private var stretch: UInt64 = .max
    private var count: UInt32?
    /// When it was first found to have increased; 0: never.
    private var changeNanoseconds: UInt64 = 0

    /// Whether it has taken some since the last examination in this stretch of work: the completions taken before the stretch
    /// began are its current work.
    /// - Parameter count: nil: the loop does not wait on a ring.
    mutating func hasFetched(_ count: UInt32?, in stretch: UInt64, at now: UInt64) -> Bool {
        guard let count else { return false }
        if self.stretch != stretch {
            self = RingProgress()
            self.stretch = stretch
        }
        if let before = self.count, before != count { changeNanoseconds = now }
        self.count = count
        return changeNanoseconds > 0 && now < changeNanoseconds &+ Self.fetchNanoseconds
    }
}
