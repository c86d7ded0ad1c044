internal import LagMonitor
internal import Synchronization

/// What the lines say, counted for `/metrics`. Any thread.
///
/// The meaning of each number is that of the product LagMonitorMetrics: a stall counts once, with its last line.
final class StallCounts: Sendable {
    /// Upper bounds in seconds. The shortest stall that anybody asks for is some 50 ms, and a minute is a hang by any measure.
    static let bounds: [Double] = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

    struct Series: Hashable {
        let loop: String
        let cause: StallRecord.Cause
    }

    struct Durations: Equatable {
        /// Of each bound, and beyond the last: not added up.
        var buckets = [UInt64](repeating: 0, count: StallCounts.bounds.count + 1)
        var count: UInt64 = 0
        var nanoseconds: UInt64 = 0

        mutating func add(_ duration: UInt64) {
            let seconds = Double(duration) / 1e9
            buckets[StallCounts.bounds.firstIndex { seconds <= $0 } ?? StallCounts.bounds.count] += 1
            count += 1
            let (sum, isTooMuch) = nanoseconds.addingReportingOverflow(duration)
            nanoseconds = isTooMuch ? .max : sum
        }
    }

    struct Loop: Equatable {
        /// From a hang's `begin` line to its end.
        var isStalled = false
        /// When the last stall began, in milliseconds since 1970.
        var lastMilliseconds: UInt64?
    }

    struct Snapshot {
        var durations: [Series: Durations] = [:]
        var loops: [String: Loop] = [:]
    }

    private let state: Mutex<Snapshot>

    /// - Parameter loops: those that are watched: their series are there from the start, at zero, so that the first stall is an increase.
    init(loops: [String]) {
        var snapshot = Snapshot()
        for loop in loops {
            snapshot.loops[loop] = Loop()
            for cause in StallRecord.Cause.allCases { snapshot.durations[Series(loop: loop, cause: cause)] = Durations() }
        }
        state = Mutex(snapshot)
    }

    var snapshot: Snapshot { state.withLock { $0 } }

    func count(_ stall: LineFacts.Stall) {
        let isOver = stall.phase != .begin
        state.withLock { state in
            state.loops[stall.loop, default: Loop()].isStalled = !isOver
            state.loops[stall.loop, default: Loop()].lastMilliseconds = stall.id.milliseconds
            guard isOver else { return }
            state.durations[Series(loop: stall.loop, cause: stall.cause), default: Durations()].add(stall.durationNanoseconds)
        }
    }
}
