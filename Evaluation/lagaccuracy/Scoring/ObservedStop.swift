/// One stop of the whole target, as observed by its parent. `CLOCK_MONOTONIC`, nanoseconds.
///
/// The time of the stop is not known exactly. The target was certainly stopped between ``stopped`` (reported by
/// `waitpid`, when the last thread has stopped) and ``continued`` (right before SIGCONT); it was certainly not stopped before
/// ``asked`` (right before SIGSTOP) and after ``running`` (right after SIGCONT).
struct ObservedStop: Sendable, Equatable {
    let asked: UInt64
    let stopped: UInt64
    let continued: UInt64
    let running: UInt64
}

extension Sequence<ObservedStop> {
    /// How long within an interval the target was certainly stopped.
    func certainlyStopped(from begin: UInt64, to end: UInt64) -> UInt64 {
        reduce(0) { $0 + overlap(begin, end, $1.stopped, $1.continued) }
    }

    /// How long within an interval it may have been stopped.
    func possiblyStopped(from begin: UInt64, to end: UInt64) -> UInt64 {
        reduce(0) { $0 + overlap(begin, end, $1.asked, $1.running) }
    }

    /// The time when the target had run for this long since `begin`, including the delay of every stop in between.
    func time(after begin: UInt64, running length: UInt64) -> UInt64 {
        var time = begin + length
        for observedStop in self.sorted(by: { $0.stopped < $1.stopped })
        where observedStop.continued > begin && observedStop.stopped < time {
            time += observedStop.continued - Swift.max(observedStop.stopped, begin)
        }
        return time
    }
}

/// The length of the overlap of two intervals.
func overlap(_ begin: UInt64, _ end: UInt64, _ otherBegin: UInt64, _ otherEnd: UInt64) -> UInt64 {
    let (low, high) = (max(begin, otherBegin), min(end, otherEnd))
    return high > low ? high - low : 0
}
