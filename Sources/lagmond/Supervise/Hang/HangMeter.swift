internal import LagMonitor

/// How long a loop has provably been hanging in one callback, counting only time in which it could have made progress.
///
/// An interval counts if the thread provably runs a loop, and either work was pending at both ends of the interval, or the thread
/// computed for nearly all of it. Any other interval restarts the count: a thread that waits without pending work is idle,
/// possibly for days.
///
/// These times are not counted, but do not restart the count: the process was stopped (SIGSTOP, ^Z) or traced by a debugger; its
/// thread waited for a processor (also if it is not known how long, because it still waits); polls came late, for example because
/// the whole machine, or lagmond's own control group, was stopped.
///
/// Pure: readings are passed in.
struct HangMeter: Sendable {
    struct Reading: Equatable, Sendable {
        /// Changes with each activity.
        var sequence: UInt64
        var isWorking: Bool
        var time: MonotonicTime
        /// Whether its thread runs a loop.
        var isLoop: Bool
        /// Whether events are ready that it does not fetch.
        var isWorkPending: Bool
        /// Total time that its thread has run on a processor.
        var computed: Duration
        /// Whether it cannot make progress now.
        var isStoppedOrTraced: Bool
        /// Total time that its thread has waited for a processor.
        var waitedForProcessor: Duration
        /// Total number of times that it went to sleep; nil: not known.
        var sleeps: UInt64?
        /// Whether it runs or waits for a processor now.
        var isRunnable = false
        /// Whether the kernel alone proves that work waits for its loop (``LoopProof/isWitnessed``).
        var isWitnessed = false
    }

    /// A computing thread pauses only for page faults; in addition, the scheduler updates its clock late, at the last tick.
    static let computingShare = 0.8
    /// Sleeps between two polls that may be stops by lagmond itself, which reads stacks.
    private static let ownStops: UInt64 = 2

    /// The longest time between two polls that counts.
    let longestGap: Duration
    private var last: Reading?
    private(set) var hung: Duration = .zero
    /// The reading from which ``hung`` is counted.
    private(set) var began = MonotonicTime.now
    /// Whether the kernel alone proves all of ``hung``: the thread slept once, all that time, and work waited for it. (The
    /// readings' sequence, in contrast, is a claim of the process.)
    private(set) var isWitnessed = false
    /// Whether an action was taken for the current callback.
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
        let computed = reading.computed - last.computed
        let hasComputed = computed >= couldRun * Self.computingShare && couldRun > .zero
        // The kernel adds a wait for a processor when it is over. A thread that has not slept has computed or waited for one.
        let wasRunnable = last.isRunnable && reading.isRunnable && reading.isLoop && last.isLoop
        let hasNotSlept = wasRunnable && sleptOnce && computed > .zero
        guard last.isLoop, reading.isLoop, isWorkPending || hasComputed || hasNotSlept else {
            // Without a processor it could not compute.
            if couldRun > .zero, !(wasRunnable && sleeps(since: last, reading) <= Self.ownStops) {
                (hung, began) = (.zero, reading.time)
            }
            return
        }
        isWitnessed = (hung == .zero || isWitnessed) && sleptOnce && isWorkPending && last.isWitnessed && reading.isWitnessed
        let known = isWorkPending || hasComputed ? min(couldRun, max(longestGap - waited, .zero)) : .zero
        hung += max(known, min(computed, longestGap))
    }

    private func sleeps(since last: Reading, _ reading: Reading) -> UInt64 {
        guard let before = last.sleeps, let now = reading.sleeps, now >= before else { return .max }
        return now - before
    }
}
