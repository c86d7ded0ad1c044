internal import CLagRemote

/// What the kernel recorded of a thread between one sample and the next. Values in, values out.
///
/// The records are complete at the beginning, at the end, at both, or at neither: recording may have begun meanwhile, and the ring may have been
/// full. An event that was recorded happened; only that there was no other one is a matter of completeness.
struct SwitchTrace: Sendable, Equatable {
    enum Event: Sendable, Equatable {
        case running, preempted, asleep
        /// It came by its loop's wait.
        case pass
        /// Records before this one were lost.
        case lost
    }

    /// Which passes of its loop's wait are recorded.
    enum Stamps: Sendable, Equatable {
        case none
        /// Since some time after the last sample.
        case some
        case all
    }

    /// When the thread was sampled: not before. What happened later may have happened after the sample.
    private(set) var sampledNanoseconds = UInt64.max
    /// Whether switches were recorded all the time, from the last sample on.
    private(set) var hasAllSwitches = false
    /// Whether no pass before the first one that was recorded was missed, since the last sample.
    private(set) var hasFirstPass = false
    /// Whether none was missed after the last.
    private(set) var hasLastPass = false
    private(set) var firstPass: UInt64?
    private(set) var lastPass: UInt64?
    /// When it got a processor after a sleep.
    private(set) var firstWake: UInt64?
    private(set) var lastWake: UInt64?
    /// When it went to sleep.
    private(set) var firstSleep: UInt64?
    private(set) var lastSleep: UInt64?
    /// Whether it was switched while, or after, it was sampled.
    private(set) var isUnsettled = false
    private(set) var isAsleep: Bool
    private var hasLost = false

    /// - Parameter wasAsleep: whether it was asleep when the sample before was made.
    init(wasAsleep: Bool) { isAsleep = wasAsleep }

    /// The sample at whose time it ends was made.
    /// - Parameters:
    ///   - sampled: not before that.
    ///   - isRecorded: whether switches were recorded since the sample before.
    ///   - stamps: which passes were.
    mutating func end(sampled: UInt64, isRecorded: Bool, stamps: Stamps) {
        sampledNanoseconds = sampled
        hasAllSwitches = isRecorded && !hasLost
        hasFirstPass = stamps == .all && !hasLost
        hasLastPass = stamps != .none && !hasLost
    }

    /// Whether what happened then may have come after the sample.
    func isLate(_ event: Event, at time: UInt64) -> Bool { event != .pass && time > sampledNanoseconds }

    /// Takes the next record, in order of time.
    mutating func record(_ event: Event, at time: UInt64) {
        if isLate(event, at: time) { isUnsettled = true }
        switch event {
        case .running:
            guard isAsleep else { return }
            isAsleep = false
            if firstWake == nil { firstWake = time }
            lastWake = time
        case .preempted: isAsleep = false
        case .asleep:
            isAsleep = true
            if firstSleep == nil { firstSleep = time }
            lastSleep = time
        case .pass:
            if firstPass == nil { firstPass = time }
            lastPass = time
        case .lost:
            hasLost = true
            hasAllSwitches = false
            if firstPass == nil { hasFirstPass = false }
            hasLastPass = false
        }
    }

    /// Records from now on are lost.
    mutating func recordFull() {
        hasAllSwitches = false
        hasLastPass = false
    }
}

extension SwitchTrace.Event {
    /// - Parameter place: where the loop waits: the pass of a handler's own wait is no event.
    init?(_ found: clr_switch, of place: RestPlace) {
        switch found.kind {
        case Int32(CLR_SWITCH_IN): self = .running
        case Int32(CLR_SWITCH_PREEMPTED): self = .preempted
        case Int32(CLR_SWITCH_ASLEEP): self = .asleep
        case Int32(CLR_SWITCH_PASS):
            guard place.isLoopsOwn(stackPointer: found.sp, firstArgument: found.first_argument) else { return nil }
            self = .pass
        case Int32(CLR_SWITCH_LOST): self = .lost
        default: return nil
        }
    }
}
