internal import CLagLinux
internal import LagActivity

/// The end of a thread, perhaps with its process. How a process has ended is known only once all its threads are gone and its
/// memory is freed.
struct ThreadEnd: Sendable {
    /// 0: it has not ended.
    private var nanoseconds: UInt64 = 0

    /// The main thread may have ended before, in a process that goes on: then only the record is this much later. (Living
    /// threads do not show that: in a process that exits, they end some milliseconds after the one that exits it.)
    private static let longestNanoseconds: UInt64 = 200_000_000

    /// Call it when the thread was seen to have ended. Some 10 µs.
    /// - Returns: whether the end of its process may be in progress.
    mutating func isInProgress(of process: ProcessHandle, at now: UInt64) -> Bool {
        if nanoseconds == 0 { nanoseconds = now }
        guard now < nanoseconds &+ Self.longestNanoseconds, process.isAlive else { return false }
        return cll_thread_is_ending(process.pid, process.pid) != 0
    }

    /// Ends the stretch of work in progress when the thread was first seen to have ended: what follows is not its work.
    /// - Parameter last: when it was last seen alive.
    func end(_ stretches: inout SampledStretches, after last: UInt64) {
        guard nanoseconds != 0, stretches.present != nil else { return }
        stretches.end(at: TimeBounds(last, likely: nanoseconds, nanoseconds))
    }
}
