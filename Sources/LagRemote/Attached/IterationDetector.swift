internal import LagActivity
internal import LagModel

/// Determines from samples of a thread when its loop rests, when it works, and whether a stretch of work may still be the same
/// one.
///
/// A loop that is seen asleep at its place rests. Seen elsewhere, it works, since the last sample at the latest, and no longer
/// than it can have run since. If it is repeatedly seen at work, it may have iterated in between, when its wait returned at once:
/// then this is in doubt, and must be found out (``IterationProbe``). Pure: no clock is read and nothing is sampled here.
struct IterationDetector: Sendable {
    /// What the loop would have published if it had a beacon.
    enum Step: Sendable, Equatable {
        case nothing
        case rest
        /// A rest ended at this time.
        case wake(UInt64)
        /// It iterated at this time, without an observed rest.
        case iteration(UInt64)
    }

    private(set) var place: RestPlace
    private(set) var isAtWork = false
    /// When the current stretch of work began.
    private(set) var began = TimeBounds.exact(0)
    /// When that most likely began, if `began.likely` is the time from which it is certain; nil: `began.likely`.
    private(set) var mayHaveBegun: UInt64?
    /// The trace before it was first seen, and the longest sleep that was certainly within it.
    private var beginning: SwitchTrace?
    private var longestSleepNanoseconds: UInt64 = 0
    /// When the last stretch of work ended.
    private(set) var ended = TimeBounds.exact(0)
    private let holdNanoseconds: UInt64
    private var last: (time: UInt64, observation: ThreadObservation)?
    private var restVisits = 0
    private var restRuns: UInt64?
    private var restedNanoseconds: UInt64 = 0
    private var other: (place: RestPlace?, visits: Int) = (nil, 0)
    /// The loop's previous place, if it was seen often or an epoll instance follows it: the current place may be a handler's.
    private var former: (place: RestPlace, isSure: Bool)?
    /// Whether the thread may have run between the last two observations.
    private(set) var hasMoved = false
    private var heldNanoseconds: UInt64 = 0

    /// A place that was seen this often is trusted.
    private static let sureVisits = 8
    /// Four waits on another epoll instance, the present one included, show that it is the loop's.
    private static let instanceVisits = 3
    /// A loop that waits elsewhere this often, for this long, has moved there.
    private static let otherVisits = 32
    private static let goneNanoseconds: UInt64 = 5_000_000_000
    /// Or for this long, if it waits for a more likely loop object: a handler's library that waits like this returns earlier.
    private static let likelierNanoseconds: UInt64 = 1_000_000_000

    /// A stretch of work of this length is in doubt.
    private static let doubtNanoseconds: UInt64 = 5_000_000

    /// - Parameter hold: a thread whose stretch of work is this long may be stopped.
    init(place: RestPlace, hold: UInt64) {
        self.place = place
        holdNanoseconds = hold
    }

    /// - Parameters:
    ///   - now: the earliest time of the observation.
    ///   - seen: the latest time of the observation; nil: `now`.
    ///   - isHandlers: whether it waits within a handler, although at the loop's place (``WaitReturn``).
    ///   - trace: the recorded switches since the last observation.
    mutating func observe(
        _ observation: ThreadObservation,
        at now: UInt64,
        seen: UInt64? = nil,
        isHandlers: Bool = false,
        _ trace: SwitchTrace? = nil
    ) -> Step {
        defer { last = (now, observation) }
        let seen = max(seen ?? now, now)
        hasMoved = last?.observation.runs != observation.runs || observation.doing == .running
        if (!isHandlers && isAtPlace(observation)) || isElsewhereNow(observation, at: now) {
            if restRuns != observation.runs { restVisits += 1 }
            restRuns = observation.runs
            restedNanoseconds = now
            other.visits = 0
            let wasAtWork = isAtWork || last == nil
            if isAtWork { ended = boundsOfEnd(seen: seen, trace) }
            isAtWork = false
            return wasAtWork ? .rest : .nothing
        }
        guard !isAtWork else {
            if let trace, trace.hasSleptAtWork { recordSleep(of: trace.longestSleepNanoseconds) }
            return .nothing
        }
        isAtWork = true
        (beginning, longestSleepNanoseconds, mayHaveBegun) = (trace, 0, nil)
        began = boundsOfBeginning(observation, at: now, seen: seen, trace)
        return .wake(began.likely)
    }

    /// It was at rest, and is at work. It may have iterated since it woke, without a sleep: its recorded switches make a
    /// beginning likely, but only prove that it began between its first wake and now.
    private func boundsOfBeginning(
        _ observation: ThreadObservation,
        at now: UInt64,
        seen: UInt64,
        _ trace: SwitchTrace?
    ) -> TimeBounds {
        let awake = now - timeAwake(observation, at: now)
        // Work before the first observation does not count.
        guard let last else { return TimeBounds(awake, likely: awake, seen) }
        guard let trace, trace.hasAllSwitches, let first = trace.firstWake, let wake = trace.lastWake else {
            return TimeBounds(last.time, likely: awake, seen)
        }
        // It was already ready to run.
        let delay = observation.delayNanoseconds.saturatingDifference(last.observation.delayNanoseconds)
        let earliest = max(last.time, first.saturatingDifference(delay))
        // Work that sleeps elsewhere since its last wake began before it fell asleep.
        var latest = seen
        if case .blocked = observation.doing, !trace.isUnsettled, let sleep = trace.lastSleep, sleep > wake { latest = sleep }
        return TimeBounds(earliest, likely: wake, latest)
    }

    /// Work that sleeps repeatedly (`fsync`, an answer in parts) may have done so before it was first seen: then the loop's wake
    /// is not the last one, but the last one from a longer sleep.
    private mutating func recordSleep(of nanoseconds: UInt64) {
        guard let beginning, beginning.hasAllSwitches, let first = beginning.firstWake else { return }
        // There cannot have been a longer sleep then.
        guard nanoseconds < beginning.sampledNanoseconds.saturatingDifference(first) else { return }
        longestSleepNanoseconds = max(longestSleepNanoseconds, nanoseconds)
        mayHaveBegun = beginning.wake(fromLongerThan: longestSleepNanoseconds)
    }

    /// It was at work, and is at rest.
    private func boundsOfEnd(seen: UInt64, _ trace: SwitchTrace?) -> TimeBounds {
        var earliest = last?.time ?? seen
        guard let trace else { return TimeBounds(earliest, likely: earliest + seen.saturatingDifference(earliest) / 2, seen) }
        // It ended with its first pass, even if it slept only at a later one.
        if let pass = trace.firstPass { return TimeBounds(trace.hasFirstPass ? pass : earliest, likely: pass, pass) }
        if trace.hasAllSwitches, case .blocked = last?.observation.doing, let wake = trace.firstWake {
            earliest = max(earliest, wake)
        }
        guard trace.hasAllSwitches, !trace.isUnsettled, let first = trace.firstSleep, let sleep = trace.lastSleep else {
            return TimeBounds(earliest, likely: earliest + seen.saturatingDifference(earliest) / 2, seen)
        }
        // A loop that has caught up sleeps in each wait.
        return TimeBounds(earliest, likely: first, sleep)
    }

    /// How long the thread can have been awake since it was last seen at rest: at most what the scheduler has counted.
    private func timeAwake(_ observation: ThreadObservation, at now: UInt64) -> UInt64 {
        guard let last, now > last.time else { return 0 }
        let (cpu, before) = (
            observation.cpuNanoseconds &+ observation.delayNanoseconds,
            last.observation.cpuNanoseconds &+ last.observation.delayNanoseconds
        )
        return min(cpu > before ? cpu - before : 0, now - last.time)
    }

    /// From now on the loop waits there: it is known to be the same wait.
    mutating func follow(_ found: RestPlace) {
        let callsNest = place.callsNest
        place = found
        place.callsNest = callsNest
    }

    /// Call it when the program was recognised as an interpreter whose calls are not on the C stack.
    mutating func recordInterpreter() { place.callsNest = false }

    private mutating func isAtPlace(_ observation: ThreadObservation) -> Bool {
        guard let found = observation.place, found.isSame(as: place) else { return false }
        place.programCounter = found.programCounter
        place.stackPointer = found.stackPointer
        place.rank = max(place.rank, found.rank)
        return true
    }

    /// Whether the loop has moved to another place.
    private mutating func isElsewhereNow(_ observation: ThreadObservation, at now: UInt64) -> Bool {
        guard place.call == nil, let found = observation.place, found.call == nil else { return false }
        let isBack = former?.place.isSame(as: found) == true
        let isSure = restVisits >= Self.sureVisits
        // A thread that waits further out has left the function that waited before: a start, or a loop within a handler, is over.
        // On epoll the place shows little: the wait's own events may use more stack than a handler.
        let isFurtherOut = found.stackPointer > place.stackPointer
        let isOuter = isFurtherOut && place.epoll == nil && found.rank == place.rank
        let isInstance = found.epoll != nil && place.epoll != nil
        if other.place?.isSame(as: found) != true { other = (found, 0) }
        let isSeenEnough = !isInstance || other.visits >= Self.instanceVisits
        let hasLeft = isOuter ? place.callsNest : isFurtherOut && !isSure && found.rank >= place.rank && isSeenEnough
        if !hasLeft, !isBack {
            if hasMoved { other.visits += 1 }
            // Objects that programs wait on at their start have a lower rank than their loop's object.
            // A handler's wait for one descriptor may have been seen first, alternating since: then it moves at once.
            let isOnlyNow = found.rank > place.rank && place.rank == 0 && !isSure
            let isLikelier =
                (isOuter || found.rank > place.rank) && other.visits >= Self.sureVisits
                && now >= restedNanoseconds &+ Self.likelierNanoseconds
            guard isOnlyNow || isLikelier || other.visits >= Self.otherVisits && now >= restedNanoseconds &+ Self.goneNanoseconds
            else {
                return false
            }
        }
        // It may return to a place that it has not certainly left.
        let isTrusted = isOuter ? !place.callsNest : isSure
        restVisits = isBack && former?.isSure == true ? Self.sureVisits : 0
        former =
            !isBack && !found.isSame(as: place) && (isTrusted || !isOuter && found.epoll != nil) ? (place, isTrusted) : nil
        follow(found)
        return true
    }

    /// Call it when the thread could not be sampled: its state is not known.
    mutating func forget() {
        isAtWork = false
        last = nil
    }

    /// Call it when the loop was seen to iterate.
    /// - Parameters:
    ///   - time: the time of the iteration; nil: some time between the other two.
    ///   - earliest: it was at the same work until then; it may have iterated unseen since.
    ///   - latest: the latest time at which it may have done so.
    mutating func recordIteration(at time: UInt64?, after earliest: UInt64, before latest: UInt64) -> Step {
        if let time {
            return recordIteration(
                ended: TimeBounds(min(earliest, time), likely: time, time),
                began: TimeBounds(time, likely: time, latest)
            )
        }
        let middle = earliest + latest.saturatingDifference(earliest) / 2
        return recordIteration(
            ended: TimeBounds(earliest, likely: middle, latest),
            began: TimeBounds(earliest, likely: latest, latest)
        )
    }

    /// It passed its wait since the observation before the last, and is at work.
    /// - Parameters:
    ///   - previous: the earliest time of that observation.
    ///   - seen: the latest time of the last observation.
    mutating func recordPasses(_ trace: SwitchTrace, since previous: UInt64, seen: UInt64) -> Step {
        guard let first = trace.firstPass, let last = trace.lastPass else { return .nothing }
        let ended = TimeBounds(trace.hasFirstPass ? first : min(previous, first), likely: first, first)
        guard trace.hasLastPass else { return recordIteration(ended: ended, began: TimeBounds(last, likely: seen, seen)) }
        // It may have slept in its wait, which is known if its switches are recorded.
        guard trace.hasAllSwitches else { return recordIteration(ended: ended, began: TimeBounds(last, likely: last, seen)) }
        if let wake = trace.lastWake, wake > last {
            return recordIteration(ended: ended, began: TimeBounds(last, likely: wake, wake))
        }
        return recordIteration(ended: ended, began: .exact(last))
    }

    /// It may have iterated unseen until then, so the current stretch of work may be this young.
    mutating func recordUnwatched(until time: UInt64) {
        guard isAtWork, time > began.latest else { return }
        began = TimeBounds(began.earliest, likely: began.likely, time)
    }

    private mutating func recordIteration(ended: TimeBounds, began: TimeBounds) -> Step {
        guard isAtWork, began.likely > self.began.likely else { return .nothing }
        self.ended = ended
        self.began = began
        (beginning, mayHaveBegun) = (nil, nil)
        return .iteration(began.likely)
    }

    /// Whether the current stretch of work is this long.
    func isOlder(than nanoseconds: UInt64, at now: UInt64) -> Bool { isAtWork && now >= began.likely &+ nanoseconds }

    /// Whether to find out if the loop iterates.
    func isInDoubt(at now: UInt64) -> Bool { isOlder(than: Self.doubtNanoseconds, at: now) }

    /// Whether it may be stopped for that: occasionally, and not a thread that would notice, or that has slept since the last
    /// sample.
    /// - Parameter isForProof: whether it may be stopped all the time.
    mutating func mayBeHeld(at now: UInt64, isForProof: Bool = false) -> Bool {
        guard isAtWork, let last, last.observation.canBeHeld, now >= began.likely &+ holdNanoseconds else { return false }
        if case .blocked(let call, _, _, _, _) = last.observation.doing, call >= 0, !hasMoved { return false }
        // A known stall is checked for its end.
        let isOld = now >= began.likely &+ 8 * holdNanoseconds
        guard !isOld || isForProof || now >= heldNanoseconds &+ holdNanoseconds else { return false }
        heldNanoseconds = now
        return true
    }
}
