internal import LagModel

/// How long threads of other processes were stopped, in all captures of this process, for the summary.
package enum StopTimes {
    /// The number of latest stops that are kept.
    private static let capacity = 8192

    private struct State {
        var latest: [UInt32] = []
        var count: UInt64 = 0
    }

    private static let state = PthreadMutex(State())

    /// Adds a stop, measured from when the thread was last known to run.
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

    /// The count, and of the latest ones the median, the 99th percentile, and the longest, in µs. Nil: none.
    package static var summary: (count: UInt64, median: UInt32, p99: UInt32, longest: UInt32)? {
        let (sorted, count) = state.withLock { ($0.latest.sorted(), $0.count) }
        guard let longest = sorted.last else { return nil }
        return (count, sorted[sorted.count / 2], sorted[(sorted.count * 99 + 99) / 100 - 1], longest)
    }
}
