internal import LagMonitor

/// How long a loop has provably been hanging in one callback, counting only time in which it could have made progress.
///
/// What the time between two polls counts is its ``Interval``. Of that, these times are not counted: its thread waited for a
/// processor; polls came late, for example because the whole machine, or lagmond's own control group, was stopped.
///
/// Pure: readings are passed in.
struct HangMeter: Sendable {
    struct Reading: Equatable, Sendable {
        /// Changes with each activity.
        var sequence: UInt64
        var isWorking: Bool
        var time: MonotonicTime
        /// Whether its thread runs a loop; nil: not known now, because its examination has not ended.
        var isLoop: Bool?
        /// Whether events are ready that it does not fetch; nil: not known now (``LoopProof/isWorkPending``).
        var isWorkPending: Bool?
        /// Total time that its thread has run on a processor.
        var computed: Duration
        /// Whether it cannot make progress now.
        var isStoppedOrTraced: Bool
        /// Total time that its thread has waited for a processor.
        var waitedForProcessor: Duration
        /// Total number of times that it went to sleep; nil: not known.
        var sleeps: UInt64?
        /// Stops of it by lagmond itself, which the kernel counts as sleeps, before and after `sleeps` was read (`clr_stops`).
        var stopsBefore: UInt64 = 0
        var stopsAfter: UInt64 = 0
        /// Whether it runs or waits for a processor now.
        var isRunnable = false
        /// Whether the kernel alone proves that work waits for its loop (``LoopProof/isWitnessed``).
        var isWitnessed = false
        /// ``LoopProof/sleeps``: of a sleeping thread. The kernel counts two sleeps for each stop of that by lagmond, and one
        /// for each stop of a running thread (`clr_stops`), which `sleeps` is about: so these are two counts.
        var provedSleeps: UInt64?
    }

    /// The time between two polls of the same callback.
    private enum Interval {
        /// The thread provably runs a loop, and work was pending at both ends, or it computed for nearly all of the time: all
        /// time in which it could run counts.
        case hanging
        /// It provably runs a loop and has not slept: what it computed counts. The rest is a wait for a processor, which the
        /// kernel adds only when it is over.
        case computing
        /// Not known: it was stopped (SIGSTOP, ^Z) or traced by a debugger, an examination has not ended, or it may have waited
        /// for a processor all the time. It does not count, and does not restart the count, unless it lasts (``longestUnknown``).
        case unknown
        /// It waited without pending work: it is idle, possibly for days. The count restarts.
        case idle
    }

    /// A computing thread pauses only for page faults; in addition, the scheduler updates its clock late, at the last tick.
    static let computingShare = 0.8
    /// Sleeps between two polls that may be stops by lagmond itself: it counts them a moment later than the kernel.
    private static let ownStops: UInt64 = 2

    /// After this time in a row in which nothing was found out although the thread could run, what came before no longer counts.
    static let longestUnknown: Duration = .seconds(10)

    /// The longest time between two polls that counts.
    let longestGap: Duration
    private var unknown: Duration = .zero
    private var last: Reading?
    /// The last known ``Reading/provedSleeps`` in this callback.
    private var provedSleeps: UInt64?
    private(set) var hung: Duration = .zero
    /// The reading from which ``hung`` is counted.
    private(set) var began = MonotonicTime.now
    /// Whether the kernel alone proves all of ``hung``: the thread slept once, all that time, and work waited for it. (The
    /// readings' sequence, in contrast, is a claim of the process.)
    private(set) var isWitnessed = false
    /// Whether an action was taken for the current callback.
    var isHandled = false

    /// Whether an action is due for a hang of this duration: once per callback, and only if the last reading proves that it is a
    /// loop.
    func isDue(after duration: Duration) -> Bool { hung >= duration && !isHandled && last?.isLoop == true }

    init(longestGap: Duration) { self.longestGap = longestGap }

    mutating func add(_ reading: Reading) {
        defer {
            last = reading
            provedSleeps = reading.provedSleeps ?? provedSleeps
        }
        guard let last, last.sequence == reading.sequence, last.isWorking, reading.isWorking else {
            (isHandled, hung, began, unknown, provedSleeps) = (false, .zero, reading.time, .zero, nil)
            return
        }
        let sleptOnce = sleeps(since: last, reading) == 0
        let waited = max(reading.waitedForProcessor - last.waitedForProcessor, .zero)
        let couldRun = max(reading.time - last.time - waited, .zero)
        let computed = reading.computed - last.computed
        let interval = isSameProof(reading) ? interval(last, reading, couldRun: couldRun, computed: computed) : .idle
        if interval != .unknown { unknown = .zero }
        switch interval {
        case .hanging:
            isWitnessed =
                (hung == .zero || isWitnessed) && sleptOnce && isPending(last, reading) && last.isWitnessed && reading.isWitnessed
            hung += max(min(couldRun, max(longestGap - waited, .zero)), min(computed, longestGap))
        case .computing:
            isWitnessed = false
            hung += min(computed, longestGap)
        case .unknown:
            isWitnessed = isWitnessed && sleptOnce
            // The kernel adds a wait for a processor only when it is over.
            let isHeld = last.isStoppedOrTraced || reading.isStoppedOrTraced
            if !isHeld, !(last.isRunnable && reading.isRunnable) { unknown += min(couldRun, longestGap) }
            if unknown > Self.longestUnknown { (hung, began, unknown) = (.zero, reading.time, .zero) }
        case .idle: (hung, began) = (.zero, reading.time)
        }
    }

    private func interval(_ last: Reading, _ reading: Reading, couldRun: Duration, computed: Duration) -> Interval {
        guard !last.isStoppedOrTraced, !reading.isStoppedOrTraced, let wasLoop = last.isLoop, let isLoop = reading.isLoop else {
            return .unknown
        }
        // Without a processor it could not compute.
        guard wasLoop, isLoop else { return couldRun > .zero ? .idle : .unknown }
        if isPending(last, reading) { return .hanging }
        if couldRun > .zero, computed >= couldRun * Self.computingShare { return .hanging }
        // A thread that has not slept has computed or waited for a processor.
        let mayHaveRun = last.isRunnable && reading.isRunnable
        let sleeps = sleeps(since: last, reading)
        if mayHaveRun, sleeps == 0, computed > .zero { return .computing }
        let mayHavePended = last.isWorkPending != false && reading.isWorkPending != false
        return couldRun == .zero || mayHavePended || mayHaveRun && sleeps <= Self.ownStops ? .unknown : .idle
    }

    /// False: it has slept again since it was proved, however little was known in between.
    private func isSameProof(_ reading: Reading) -> Bool {
        provedSleeps == nil || reading.provedSleeps == nil || provedSleeps == reading.provedSleeps
    }

    private func isPending(_ last: Reading, _ reading: Reading) -> Bool {
        last.isWorkPending == true && reading.isWorkPending == true
    }

    /// Without the stops by lagmond that were certainly in between. What is not known, or contradictory, counts as many sleeps.
    private func sleeps(since last: Reading, _ reading: Reading) -> UInt64 {
        // It may be lagmond's stop, which the kernel has counted, and lagmond has not yet.
        guard !last.isStoppedOrTraced, !reading.isStoppedOrTraced, let before = last.sleeps, let now = reading.sleeps else {
            return .max
        }
        let stops = reading.stopsBefore - min(reading.stopsBefore, last.stopsAfter)
        guard now >= before, now - before >= stops else { return .max }
        return now - before - stops
    }
}
