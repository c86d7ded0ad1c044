internal import LagMonitor

/// For how long a loop has been hanging in one callback, counting only time in which it could have got on.
///
/// Not counted: time in which the process was stopped (SIGSTOP, ^Z) or traced by a debugger, time for which its thread waited for a
/// processor, and time in which nobody looked, as while the whole machine, or lagmond's own group, stood still.
///
/// Pure: readings are told.
struct HangMeter: Sendable {
    struct Reading: Equatable, Sendable {
        /// Changes with every activity.
        var sequence: UInt64
        var isWorking: Bool
        var time: MonotonicTime
        /// For how long it has been at what it does now, by the loop's own clock.
        var lag: Duration
        /// Nobody may expect anything of it now.
        var isStoppedOrTraced: Bool
        /// How long its thread has waited for a processor, ever.
        var waitedForProcessor: Duration
    }

    /// The longest time between two looks that counts.
    let longestGap: Duration
    private var last: Reading?
    private(set) var hung: Duration = .zero
    /// Whether an action was taken for the present callback.
    var isHandled = false

    init(longestGap: Duration) { self.longestGap = longestGap }

    mutating func add(_ reading: Reading) {
        defer { last = reading }
        guard let last, last.sequence == reading.sequence, last.isWorking, reading.isWorking else {
            isHandled = false
            // What passed since the callback's beginning, at most since the last look.
            hung = reading.isWorking && !reading.isStoppedOrTraced ? min(reading.lag, longestGap) : .zero
            return
        }
        guard !last.isStoppedOrTraced, !reading.isStoppedOrTraced else { return }
        let passed = min(reading.time - last.time, longestGap)
        let waited = max(reading.waitedForProcessor - last.waitedForProcessor, .zero)
        hung += max(passed - waited, .zero)
    }
}
