internal import LagModel

/// Decides when threads of pools may have come that are not watched yet, by how many threads the process has.
struct WorkerNews {
    /// A thread may end and another begin between two looks, and their number stay: after so long a search is made in any case.
    private static let searchNanoseconds: UInt64 = 1_000_000_000
    /// Threads are found by their name, and one that is just made has its maker's until it first runs: on a busy machine only after so long.
    static let namingNanoseconds: UInt64 = 200_000_000

    private var threads: UInt64 = 0
    private var searched: UInt64
    /// When the last look found others than the one before; 0: those have their names.
    private var came: UInt64 = 0

    /// - Parameter now: when the first pool is watched.
    init(at now: UInt64) { searched = now }

    /// Whether each look searches: there may be threads without a name yet. The next look may come at once, since what a search finds asks for one.
    var isExpecting: Bool { came > 0 }

    /// A look at how many there are.
    /// - Parameters:
    ///   - hasEnded: whether a watched one is known to have ended.
    ///   - last: when all that were there then had been looked at.
    /// - Returns: since when those that a search finds now may have run; nil: none is needed.
    mutating func search(threads count: UInt64, hasEnded: Bool, at now: UInt64, last: UInt64) -> UInt64? {
        let isOther = count != threads || hasEnded
        guard isOther || isExpecting || now.saturatingDifference(searched) >= Self.searchNanoseconds else { return nil }
        // Those that the last search did not find had not run by then, or came at any time since.
        let since = isOther && !isExpecting ? last : min(last, searched)
        if isOther {
            came = max(now, 1)
        } else if now.saturatingDifference(came) >= Self.namingNanoseconds {
            came = 0
        }
        (threads, searched) = (count, now)
        return max(since, 1)
    }
}
