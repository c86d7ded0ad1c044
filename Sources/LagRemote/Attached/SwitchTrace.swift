internal import CLagRemote
internal import LagModel

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
    /// The longest of the sleeps that ended in it.
    private(set) var longestSleepNanoseconds: UInt64 = 0
    /// When the thread last got a processor after a sleep of each class of lengths; 0: there was none.
    private var lastWakes = SIMD16<UInt64>()
    /// Since when it sleeps; nil: it does not, or did so before that was recorded.
    private(set) var asleepSince: UInt64?
    /// Whether it was switched while, or after, it was sampled.
    private(set) var isUnsettled = false
    private(set) var isAsleep: Bool
    private var hasLost = false

    /// - Parameter wasAsleep: whether it was asleep when the sample before was made.
    /// - Parameter since: since when it was; nil: not known.
    init(wasAsleep: Bool, since: UInt64? = nil) {
        isAsleep = wasAsleep
        asleepSince = wasAsleep ? since : nil
    }

    /// Of a pass that was seen while the thread was held.
    init(heldPassAt time: UInt64, wasAsleep: Bool, sampled now: UInt64) {
        self.init(wasAsleep: wasAsleep)
        end(sampled: now, isRecorded: false, stamps: .some)
        record(.pass, at: time)
    }

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
            // One that began before it was recorded was long.
            let sleep = asleepSince.map(time.saturatingDifference)
            lastWakes[sleep.map(Self.lengthClass) ?? lastWakes.scalarCount - 1] = time
            longestSleepNanoseconds = max(longestSleepNanoseconds, sleep ?? 0)
            asleepSince = nil
        case .preempted: (isAsleep, asleepSince) = (false, nil)
        case .asleep:
            isAsleep = true
            asleepSince = time
            if firstSleep == nil { firstSleep = time }
            lastSleep = time
        case .pass:
            if firstPass == nil { firstPass = time }
            lastPass = time
        case .lost:
            hasLost = true
            asleepSince = nil
            hasAllSwitches = false
            if firstPass == nil { hasFirstPass = false }
            hasLastPass = false
        }
    }

    /// Whether it slept, and went on, without coming by its loop's wait: for certain.
    var hasSleptAtWork: Bool { hasFirstPass && firstPass == nil && longestSleepNanoseconds > 0 }

    /// When the thread last got a processor after a sleep that was certainly longer than that; nil: there was none.
    func wake(fromLongerThan nanoseconds: UInt64) -> UInt64? {
        var wake: UInt64 = 0
        let count = lastWakes.scalarCount
        for longer in min(Self.lengthClass(nanoseconds) + 2, count - 1)..<count { wake = max(wake, lastWakes[longer]) }
        return wake > 0 ? wake : nil
    }

    /// Up to 65 µs, twice as much, and so on; the last is of a second and more.
    private static func lengthClass(_ nanoseconds: UInt64) -> Int { min(15, 64 - (nanoseconds >> 16).leadingZeroBitCount) }

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
