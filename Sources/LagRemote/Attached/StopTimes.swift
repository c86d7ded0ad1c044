internal import LagModel

/// For how long threads of other processes were held, in all captures of this process: what a summary says of it.
package enum StopTimes {
    /// So many of the last ones are kept.
    private static let capacity = 8192

    private struct State {
        var latest: [UInt32] = []
        var count: UInt64 = 0
    }

    private static let state = PthreadMutex(State())

    /// A stop, from when the thread was last known to run.
    static func record(_ nanoseconds: UInt64) {
        guard nanoseconds > 0 else { return }
        let microseconds = UInt32(clamping: nanoseconds / 1000)
        state.withLock { state in
            if state.latest.count < capacity {
                state.latest.append(microseconds)
            } else {
                state.latest[Int(state.count % UInt64(capacity))] = microseconds
            }
            state.count += 1
        }
    }

    /// How many there were; of the last ones the middle, what 99 in 100 are not longer than, and the longest, in µs. Nil: none.
    package static var summary: (count: UInt64, median: UInt32, p99: UInt32, longest: UInt32)? {
        let (sorted, count) = state.withLock { ($0.latest.sorted(), $0.count) }
        guard let longest = sorted.last else { return nil }
        return (count, sorted[sorted.count / 2], sorted[(sorted.count * 99 + 99) / 100 - 1], longest)
    }
}
