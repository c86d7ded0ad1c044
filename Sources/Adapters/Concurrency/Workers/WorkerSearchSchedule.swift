internal import LagModel

/// Decides when there may be pool threads that are not watched yet, from the process's number of threads.
struct WorkerSearchSchedule {
    /// A thread may end and another begin between two checks without changing their number: after this time a search is made in
    /// any case.
    private static let searchNanoseconds: UInt64 = 1_000_000_000
    /// Threads are found by their name, and a new thread has its creator's name until it first runs: on a busy machine this may
    /// take this long.
    static let namingNanoseconds: UInt64 = 200_000_000

    private var threads: UInt64 = 0
    private var searched: UInt64
    /// When the last check found a different number from the one before; 0: all have their names.
    private var came: UInt64 = 0

    /// - Parameter now: when the first pool is watched.
    init(at now: UInt64) { searched = now }

    /// Whether each check searches, because there may be threads without a name yet. The next check may come at once, because a
    /// search's result requests one.
    var isExpecting: Bool { came > 0 }

    /// A check of the number of threads.
    /// - Parameters:
    ///   - hasEnded: whether a watched thread is known to have ended.
    ///   - last: the time of the last check of all threads that existed then.
    /// - Returns: since when the threads that a search finds now may have run; nil: no search is needed.
    mutating func search(threads count: UInt64, hasEnded: Bool, at now: UInt64, last: UInt64) -> UInt64? {
        let isOther = count != threads || hasEnded
        guard isOther || isExpecting || now.saturatingDifference(searched) >= Self.searchNanoseconds else { return nil }
        // Threads that the last search did not find had not run by then, or were created since.
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
