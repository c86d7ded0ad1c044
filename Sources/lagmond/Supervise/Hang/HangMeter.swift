internal import LagMonitor

/// For how long a loop has been hanging in one callback, with proof, counting only time in which it could have made progress.
///
/// Time counts where it is proved that the thread runs a loop, and either work was pending at both ends of it, or the thread computed for nearly
/// all of it. An interval without that begins the count anew: a thread that waits while nothing waits for it is quiet, and may be so for days.
///
/// Not counted, and no end of the count: time in which the process was stopped (SIGSTOP, ^Z) or traced by a debugger, time for which its thread waited for a
/// processor, and time between polls that came late, as while the whole machine, or lagmond's own control group, was stopped.
///
/// Pure: readings are passed in.
struct HangMeter: Sendable {
    struct Reading: Equatable, Sendable {
        /// Changes with every activity.
        var sequence: UInt64
        var isWorking: Bool
        var time: MonotonicTime
        /// Its thread runs a loop.
        var isLoop: Bool
        /// Events are ready that it does not fetch.
        var isWorkPending: Bool
        /// How long its thread has been on processors, ever.
        var computed: Duration
        /// It cannot make progress now.
        var isStoppedOrTraced: Bool
        /// How long its thread has waited for a processor, ever.
        var waitedForProcessor: Duration
        /// How often it has gone to sleep, ever; nil: not known.
        var sleeps: UInt64?
        /// The kernel alone shows that work waits for a loop of its (``LoopProof/isWitnessed``).
        var isWitnessed = false
    }

    /// A thread that computes does so without a pause, but for page faults and what the scheduler counts late: its clock is as of the last tick.
    static let computingShare = 0.8

    /// The longest time between two polls that counts.
    let longestGap: Duration
    private var last: Reading?
    private(set) var hung: Duration = .zero
    /// The reading from which on ``hung`` is counted.
    private(set) var began = MonotonicTime.now
    /// Whether the kernel alone shows all of ``hung``: the thread slept once, all that time, and work waited for it. The readings' sequence is what
    /// its process says.
    private(set) var isWitnessed = false
    /// Whether an action was taken for the present callback.
    var isHandled = false

    init(longestGap: Duration) { self.longestGap = longestGap }

    mutating func add(_ reading: Reading) {
        defer { last = reading }
        guard let last, last.sequence == reading.sequence, last.isWorking, reading.isWorking else {
            (isHandled, hung, began) = (false, .zero, reading.time)
            return
        }
        let sleptOnce = reading.sleeps != nil && last.sleeps == reading.sleeps
        isWitnessed = isWitnessed && sleptOnce
        guard !last.isStoppedOrTraced, !reading.isStoppedOrTraced else { return }
        let passed = reading.time - last.time
        let waited = max(reading.waitedForProcessor - last.waitedForProcessor, .zero)
        let couldRun = max(passed - waited, .zero)
        let isWorkPending = last.isWorkPending && reading.isWorkPending
        let hasComputed = reading.computed - last.computed >= couldRun * Self.computingShare && couldRun > .zero
        guard last.isLoop, reading.isLoop, isWorkPending || hasComputed else {
            // Without a processor it could neither compute nor be found doing so.
            if couldRun > .zero { (hung, began) = (.zero, reading.time) }
            return
        }
        isWitnessed = (hung == .zero || isWitnessed) && sleptOnce && isWorkPending && last.isWitnessed && reading.isWitnessed
        hung += min(couldRun, max(longestGap - waited, .zero))
    }
}
