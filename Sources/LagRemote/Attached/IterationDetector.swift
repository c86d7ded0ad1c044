internal import LagActivity
internal import LagModel

/// Finds out from samples of a thread when its loop rests, when it works, and whether a stretch of work may still be the same one.
///
/// Seen asleep at its place, the loop rests. Seen elsewhere, it works, since the last sample at the latest and no longer than it
/// can have run since. Seen at work again and again, it may have gone around in between, where its wait had something for it at once: then
/// it is in doubt, and to be found out (``IterationProbe``). Values in, values out: no clock is read and nothing is sampled here.
struct IterationDetector: Sendable {
    /// What the loop would have published, had it a beacon.
    enum Step: Sendable, Equatable {
        case nothing
        case rest
        /// A rest was over at this time.
        case wake(UInt64)
        /// It went around at this time, without a rest that was seen.
        case iteration(UInt64)
    }

    private(set) var place: RestPlace
    private(set) var isAtWork = false
    /// When the present stretch of work began.
    private(set) var began = TimeBounds.exact(0)
    /// When that most likely began, where `began.likely` is the time from which on it is certain; nil: `began.likely`.
    private(set) var mayHaveBegun: UInt64?
    /// What was recorded before it was first seen, and the longest sleep that was certainly within it.
    private var beginning: SwitchTrace?
    private var longestSleepNanoseconds: UInt64 = 0
    /// When the last one ended.
    private(set) var ended = TimeBounds.exact(0)
    private let holdNanoseconds: UInt64
    private var last: (time: UInt64, observation: ThreadObservation)?
    private var restVisits = 0
    private var restRuns: UInt64?
    private var restedNanoseconds: UInt64 = 0
    private var other: (place: RestPlace?, visits: Int) = (nil, 0)
    /// Where the loop waited before, if that was seen often: where it waits now may be a handler's place.
    private var former: RestPlace?
    /// Whether the thread can have run between the last two observations.
    private(set) var hasMoved = false
    private var heldNanoseconds: UInt64 = 0

    /// A place that was seen so often is believed in.
    private static let sureVisits = 8
    /// A loop that waits elsewhere so often, for so long, is there now.
    private static let otherVisits = 32
    private static let goneNanoseconds: UInt64 = 5_000_000_000
    /// Or for so long, where it waits for what is a loop's rather: a handler's library that waits so comes back before.
    private static let likelierNanoseconds: UInt64 = 1_000_000_000

    /// So many of the watchdog's intervals are time for a turn.
    private static let gapIntervals: UInt64 = 2

    /// A stretch of work that is as long is in doubt.
    private static let doubtNanoseconds: UInt64 = 5_000_000

    /// - Parameter hold: a thread whose stretch of work is as long may be held.
    init(place: RestPlace, hold: UInt64) {
        self.place = place
        holdNanoseconds = hold
    }

    /// - Parameters:
    ///   - now: it was not observed before that,
    ///   - seen: nor after that; nil: at `now`.
    ///   - trace: what was recorded of its switches since the last observation.
    mutating func observe(
        _ observation: ThreadObservation,
        at now: UInt64,
        seen: UInt64? = nil,
        _ trace: SwitchTrace? = nil
    ) -> Step {
        defer { last = (now, observation) }
        let seen = max(seen ?? now, now)
        hasMoved = last?.observation.runs != observation.runs || observation.doing == .running
        if isAtPlace(observation) || isElsewhereNow(observation, at: now) {
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

    /// It was at rest, and is at work. It may have gone around since it woke, without a sleep: what is recorded of its switches makes a
    /// beginning likely, and says no more for certain than that it began between its first wake and now.
    private func boundsOfBeginning(
        _ observation: ThreadObservation,
        at now: UInt64,
        seen: UInt64,
        _ trace: SwitchTrace?
    ) -> TimeBounds {
        let awake = now - timeAwake(observation, at: now)
        // What it did before it was first observed is not the watch's.
        guard let last else { return TimeBounds(awake, likely: awake, seen) }
        guard let trace, trace.hasAllSwitches, let first = trace.firstWake, let wake = trace.lastWake else {
            return TimeBounds(last.time, likely: awake, seen)
        }
        // It was ready to run before.
        let delay = observation.delayNanoseconds.saturatingDifference(last.observation.delayNanoseconds)
        let earliest = max(last.time, first.saturatingDifference(delay))
        // What sleeps elsewhere since its last wake began before it fell asleep.
        var latest = seen
        if case .blocked = observation.doing, !trace.isUnsettled, let sleep = trace.lastSleep, sleep > wake { latest = sleep }
        return TimeBounds(earliest, likely: wake, latest)
    }

    /// Work that sleeps again and again (`fsync`, an answer in parts) may have done so before it was first seen: then its last wake is not the loop's, but the
    /// last one from a longer sleep.
    private mutating func recordSleep(of nanoseconds: UInt64) {
        guard let beginning, beginning.hasAllSwitches, let first = beginning.firstWake else { return }
        // No longer sleep can have been then.
        guard nanoseconds < beginning.sampledNanoseconds.saturatingDifference(first) else { return }
        longestSleepNanoseconds = max(longestSleepNanoseconds, nanoseconds)
        mayHaveBegun = beginning.wake(fromLongerThan: longestSleepNanoseconds)
    }

    /// It was at work, and is at rest.
    private func boundsOfEnd(seen: UInt64, _ trace: SwitchTrace?) -> TimeBounds {
        var earliest = last?.time ?? seen
        guard let trace else { return TimeBounds(earliest, likely: earliest + seen.saturatingDifference(earliest) / 2, seen) }
        // It ended with its first pass, also if the sleep came with a later one.
        if let pass = trace.firstPass { return TimeBounds(trace.hasFirstPass ? pass : earliest, likely: pass, pass) }
        if trace.hasAllSwitches, case .blocked = last?.observation.doing, let wake = trace.firstWake {
            earliest = max(earliest, wake)
        }
        guard trace.hasAllSwitches, !trace.isUnsettled, let first = trace.firstSleep, let sleep = trace.lastSleep else {
            return TimeBounds(earliest, likely: earliest + seen.saturatingDifference(earliest) / 2, seen)
        }
        // A loop that has caught up sleeps in its wait each time.
        return TimeBounds(earliest, likely: first, sleep)
    }

    /// How long the thread can have been up since it was last seen at rest: what the scheduler has counted, and no longer.
    private func timeAwake(_ observation: ThreadObservation, at now: UInt64) -> UInt64 {
        guard let last, now > last.time else { return 0 }
        let (cpu, before) = (
            observation.cpuNanoseconds &+ observation.delayNanoseconds,
            last.observation.cpuNanoseconds &+ last.observation.delayNanoseconds
        )
        return min(cpu > before ? cpu - before : 0, now - last.time)
    }

    /// The loop waits there from now on: it is known to be the same wait.
    mutating func follow(_ found: RestPlace) {
        let callsNest = place.callsNest
        place = found
        place.callsNest = callsNest
    }

    /// What the thread runs was recognised: an interpreter whose calls are not on the C stack.
    mutating func recordInterpreter() { place.callsNest = false }

    private mutating func isAtPlace(_ observation: ThreadObservation) -> Bool {
        guard let found = observation.place, found.isSame(as: place) else { return false }
        place.programCounter = found.programCounter
        place.stackPointer = found.stackPointer
        return true
    }

    /// Whether the loop's place is another one from now on.
    private mutating func isElsewhereNow(_ observation: ThreadObservation, at now: UInt64) -> Bool {
        guard place.call == nil, let found = observation.place, found.call == nil else { return false }
        let isBack = former?.isSame(as: found) == true
        let isSure = restVisits >= Self.sureVisits
        // Whoever waits further out has left the function that waited before: a start, or a loop within a handler, is over. On epoll the place
        // says nothing.
        let isFurtherOut = found.stackPointer > place.stackPointer
        let isOuter = isFurtherOut && place.epoll == nil && found.rank == place.rank
        let hasLeft = isOuter ? place.callsNest : isFurtherOut && !isSure && found.rank >= place.rank
        if !hasLeft, !isBack {
            if other.place?.isSame(as: found) != true { other = (found, 0) }
            if hasMoved { other.visits += 1 }
            // What programs wait on at their start is of a lower rank than their loop's object.
            // A handler's wait for one descriptor may have been seen first, and by turns since: then at once.
            let isOnlyNow = found.rank > place.rank && place.rank == 0 && !isSure
            let isLikelier =
                (isOuter || found.rank > place.rank) && other.visits >= Self.sureVisits
                && now >= restedNanoseconds &+ Self.likelierNanoseconds
            guard isOnlyNow || isLikelier || other.visits >= Self.otherVisits && now >= restedNanoseconds &+ Self.goneNanoseconds
            else {
                return false
            }
        }
        // What it has not left for certain it may come back to.
        former = !isBack && (isOuter ? !place.callsNest : isSure) ? place : nil
        follow(found)
        restVisits = isBack ? Self.sureVisits : 0
        return true
    }

    /// The thread could not be sampled: what it does now is not known.
    mutating func forget() {
        isAtWork = false
        last = nil
    }

    /// The loop was seen to go around.
    /// - Parameters:
    ///   - time: then; nil: some time between the other two.
    ///   - earliest: it was at the same work until then; it may have gone around since, unseen.
    ///   - latest: it may have done so until then.
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

    /// It came by its wait since the observation before the last, and is at work.
    /// - Parameters:
    ///   - previous: when that observation was made, at the earliest.
    ///   - seen: when the last was made, at the latest.
    mutating func recordPasses(_ trace: SwitchTrace, since previous: UInt64, seen: UInt64) -> Step {
        guard let first = trace.firstPass, let last = trace.lastPass else { return .nothing }
        let ended = TimeBounds(trace.hasFirstPass ? first : min(previous, first), likely: first, first)
        guard trace.hasLastPass else { return recordIteration(ended: ended, began: TimeBounds(last, likely: seen, seen)) }
        // It may have slept in its wait, which is known where its switches are.
        guard trace.hasAllSwitches else { return recordIteration(ended: ended, began: TimeBounds(last, likely: last, seen)) }
        if let wake = trace.lastWake, wake > last {
            return recordIteration(ended: ended, began: TimeBounds(last, likely: wake, wake))
        }
        return recordIteration(ended: ended, began: .exact(last))
    }

    /// It may have gone around unseen: the present stretch of work may be as young. In a gap in which there is time for a whole turn, as where this process got no
    /// processor, that is as likely as not: one stall is not made of what may be two turns.
    /// - Parameters:
    ///   - previous: since then.
    ///   - time: until then.
    mutating func recordUnwatched(since previous: UInt64, until time: UInt64) -> Step {
        guard isAtWork, time > began.latest else { return .nothing }
        guard time.saturatingDifference(previous) < Self.gapIntervals * holdNanoseconds else {
            return recordIteration(at: nil, after: previous, before: time)
        }
        began = TimeBounds(began.earliest, likely: began.likely, time)
        return .nothing
    }

    private mutating func recordIteration(ended: TimeBounds, began: TimeBounds) -> Step {
        guard isAtWork, began.likely > self.began.likely else { return .nothing }
        self.ended = ended
        self.began = began
        (beginning, mayHaveBegun) = (nil, nil)
        return .iteration(began.likely)
    }

    /// Whether the present stretch of work is as long.
    func isOlder(than nanoseconds: UInt64, at now: UInt64) -> Bool { isAtWork && now >= began.likely &+ nanoseconds }

    /// Whether it is to be found out if the loop goes around.
    func isInDoubt(at now: UInt64) -> Bool { isOlder(than: Self.doubtNanoseconds, at: now) }

    /// Whether it may be held for that: now and then, and not one that would notice, or that sleeps and was not woken since the last sample.
    /// - Parameter isForProof: not now and then, but all the time.
    mutating func mayBeHeld(at now: UInt64, isForProof: Bool = false) -> Bool {
        guard isAtWork, let last, last.observation.canBeHeld, now >= began.likely &+ holdNanoseconds else { return false }
        if case .blocked = last.observation.doing, !hasMoved { return false }
        // A stall that is known is checked for its end.
        let isOld = now >= began.likely &+ 8 * holdNanoseconds
        guard !isOld || isForProof || now >= heldNanoseconds &+ holdNanoseconds else { return false }
        heldNanoseconds = now
        return true
    }
}
