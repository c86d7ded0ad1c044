internal import CLagBeacon

extension ModuleMap {
    /// So much of this thread's time it may take, as one in so many.
    private static let walkTimes: UInt64 = 100
    /// A reading in which this thread got no processor has taken longer than it cost.
    private static let longestPauseNanoseconds: UInt64 = 1_000_000_000

    /// Reads the mappings again for a walk that came to code in no module: something may have been loaded, or made, since they were read. Where a program's stacks lead
    /// there always (code that is made at run time and not described), seldom: of chromium's 2,000 mappings a reading takes 1.3 ms. Owner thread; no allocation, no lock.
    /// - Returns: whether anything came or went since the last time.
    func refreshForWalk() -> Bool {
        let begun = clb_now_ns()
        guard begun >= nextForWalk else { return false }
        let hasChanged = refresh()
        let ended = clb_now_ns()
        nextForWalk = ended &+ min((ended &- begun) &* Self.walkTimes, Self.longestPauseNanoseconds)
        return hasChanged
    }
}
