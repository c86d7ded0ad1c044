internal import CLagBeacon

extension ModuleMap {
    /// It may take this fraction of the thread's time, as one in so many.
    private static let walkTimes: UInt64 = 100
    /// A reading during which this thread got no processor has taken longer than it cost.
    private static let longestPauseNanoseconds: UInt64 = 1_000_000_000

    /// Reads the mappings again after a walk reached code in no module: code may have been loaded, or generated, since they were
    /// read. If a program's stacks always lead to such code (generated at run time and not described), this is done rarely:
    /// reading chromium's 2,000 mappings takes 1.3 ms. Owner thread; no allocation, no lock.
    /// - Returns: whether mappings were added or removed since the last time.
    func refreshForWalk() -> Bool {
        let begun = clb_now_ns()
        guard begun >= nextForWalk else { return false }
        let hasChanged = refresh()
        let ended = clb_now_ns()
        nextForWalk = ended &+ min((ended &- begun) &* Self.walkTimes, Self.longestPauseNanoseconds)
        return hasChanged
    }
}
