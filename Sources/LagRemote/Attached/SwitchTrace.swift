internal import CLagRemote
internal import LagModel

/// The kernel's records of a thread between one sample and the next. Pure.
///
/// The records may be incomplete at the beginning, the end, or both: recording may have begun meanwhile, and the ring may have
/// been full. A recorded event did happen; completeness only matters for proving that there was no other one.
struct SwitchTrace: Sendable, Equatable {
    enum Event: Sendable, Equatable {
        case running, preempted, asleep
        /// It passed its loop's wait.
        case pass
        /// Records before this one were lost.
        case lost
    }

    /// The period for which passes of its loop's wait are recorded.
    enum Stamps: Sendable, Equatable {
        case none
        /// From some time after the last sample.
        case some
        case all
    }

    /// The earliest time of the sample. Later events may have happened after the sample.
    private(set) var sampledNanoseconds = UInt64.max
    /// Whether switches were recorded without a gap since the last sample.
    private(set) var hasAllSwitches = false
    /// Whether no pass was missed between the last sample and the first recorded pass.
    private(set) var hasFirstPass = false
    /// Whether none was missed after the last recorded pass.
    private(set) var hasLastPass = false
    private(set) var firstPass: UInt64?
    private(set) var lastPass: UInt64?
    /// When it got a processor after a sleep.
    private(set) var firstWake: UInt64?
    private(set) var lastWake: UInt64?
    /// When it went to sleep.
    private(set) var firstSleep: UInt64?
    private(set) var lastSleep: UInt64?
    /// The longest of the sleeps that ended in this trace.
    private(set) var longestSleepNanoseconds: UInt64 = 0
    /// For each class of durations, when the thread last got a processor after such a sleep; 0: none.
    private var lastWakes = SIMD16<UInt64>()
    /// Since when it sleeps; nil: it does not, or it fell asleep before recording began.
    private(set) var asleepSince: UInt64?
    /// Whether it was switched during or after the sample.
    private(set) var isUnsettled = false
    private(set) var isAsleep: Bool
    private var hasLost = false

    /// - Parameter wasAsleep: whether it was asleep at the previous sample.
    /// - Parameter since: when that sleep began; nil: not known.
    init(wasAsleep: Bool, since: UInt64? = nil) {
        isAsleep = wasAsleep
        asleepSince = wasAsleep ? since : nil
    }

    /// For a pass that was seen while the thread was traced.
    init(heldPassAt time: UInt64, wasAsleep: Bool, sampled now: UInt64) {
        self.init(wasAsleep: wasAsleep)
        end(sampled: now, isRecorded: false, stamps: .some)
        record(.pass, at: time)
    }

    /// Call it when the sample that ends the trace was taken.
    /// - Parameters:
    ///   - sampled: the earliest time of that sample.
    ///   - isRecorded: whether switches were recorded since the previous sample.
    ///   - stamps: which passes were recorded.
    mutating func end(sampled: UInt64, isRecorded: Bool, stamps: Stamps) {
        sampledNanoseconds = sampled
        hasAllSwitches = isRecorded && !hasLost
        hasFirstPass = stamps == .all && !hasLost
        hasLastPass = stamps != .none && !hasLost
    }

    /// Whether an event at that time may be after the sample.
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
            // A sleep that began before recording counts as long.
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

    /// Whether it certainly slept and continued without passing its loop's wait.
    var hasSleptAtWork: Bool { hasFirstPass && firstPass == nil && longestSleepNanoseconds > 0 }

    /// When the thread last got a processor after a sleep that was certainly longer than that; nil: never.
    func wake(fromLongerThan nanoseconds: UInt64) -> UInt64? {
        var wake: UInt64 = 0
        let count = lastWakes.scalarCount
        for longer in min(Self.lengthClass(nanoseconds) + 2, count - 1)..<count { wake = max(wake, lastWakes[longer]) }
        return wake > 0 ? wake : nil
    }

    /// The classes: up to 65 µs, twice as much, and so on; the last one is a second and more.
    private static func lengthClass(_ nanoseconds: UInt64) -> Int { min(15, 64 - (nanoseconds >> 16).leadingZeroBitCount) }

    /// Records from now on are lost.
    mutating func recordFull() {
        hasAllSwitches = false
        hasLastPass = false
    }
}

extension SwitchTrace.Event {
    /// - Parameter place: the loop's waiting place: the pass of a handler's own wait is not an event.
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
