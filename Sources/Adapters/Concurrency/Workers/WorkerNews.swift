internal import LagModel

/// Decides when threads of pools may have come that are not watched yet, by how many threads the process has.
struct WorkerNews {
    /// A thread may end and another begin between two looks, and their number stay: after so long a search is made in any case.
    private static let searchNanoseconds: UInt64 = 1_000_000_000

    private var threads: UInt64 = 0
    private var searched: UInt64
    /// Threads came after that; 0: none did.
    private var cameSince: UInt64 = 0

    /// - Parameter now: when the first pool is watched.
    init(at now: UInt64) { searched = now }

    /// Threads are found by their name, and one that is just made has its maker's until it first runs: the look after one that found more of them searches again.
    var isExpecting: Bool { cameSince > 0 }

    /// A look at how many there are.
    /// - Parameters:
    ///   - hasEnded: whether a watched one is known to have ended.
    ///   - last: when all that were there then had been looked at.
    /// - Returns: since when those that a search finds now may have come; nil: none is needed.
    mutating func search(threads count: UInt64, hasEnded: Bool, at now: UInt64, last: UInt64) -> UInt64? {
        let isOther = count != threads || hasEnded
        guard isOther || isExpecting || now.saturatingDifference(searched) >= Self.searchNanoseconds else { return nil }
        // Those that came unnoticed came at any time since the last search.
        let since = isExpecting ? cameSince : isOther ? last : searched
        cameSince = isOther ? max(last, 1) : 0
        (threads, searched) = (count, now)
        return max(since, 1)
    }
}
