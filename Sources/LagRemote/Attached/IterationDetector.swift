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
    /// When the present stretch of work began, as far as is known: never too early.
    private(set) var beganNanoseconds: UInt64 = 0
    private let holdNanoseconds: UInt64
    private var last: (time: UInt64, observation: ThreadObservation)?
    private var restVisits = 0
    private var restRuns: UInt64?
    private var restedNanoseconds: UInt64 = 0
    private var other: (place: RestPlace?, visits: Int) = (nil, 0)
    private var hasMoved = false
    private var heldNanoseconds: UInt64 = 0

    /// A place that was seen so often is believed in.
    private static let sureVisits = 8
    /// A loop that waits elsewhere so often, for so long, is there now.
    private static let otherVisits = 32
    private static let goneNanoseconds: UInt64 = 5_000_000_000

    /// A stretch of work that is as long is in doubt.
    private static let doubtNanoseconds: UInt64 = 5_000_000

    /// - Parameter hold: a thread whose stretch of work is as long may be held.
    init(place: RestPlace, hold: UInt64) {
        self.place = place
        holdNanoseconds = hold
    }

    mutating func observe(_ observation: ThreadObservation, at now: UInt64) -> Step {
        defer { last = (now, observation) }
        hasMoved = last?.observation.runs != observation.runs
        if isAtPlace(observation) || isElsewhereNow(observation, at: now) {
            if restRuns != observation.runs { restVisits += 1 }
            restRuns = observation.runs
            restedNanoseconds = now
            other.visits = 0
            let wasAtWork = isAtWork || last == nil
            isAtWork = false
            return wasAtWork ? .rest : .nothing
        }
        guard !isAtWork else { return .nothing }
        isAtWork = true
        beganNanoseconds = now - timeAwake(observation, at: now)
        return .wake(beganNanoseconds)
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

    private mutating func isAtPlace(_ observation: ThreadObservation) -> Bool {
        guard let found = observation.place, found.isSame(as: place) else { return false }
        place.programCounter = found.programCounter
        place.stackPointer = found.stackPointer
        return true
    }

    /// Whether the loop's place is another one from now on.
    private mutating func isElsewhereNow(_ observation: ThreadObservation, at now: UInt64) -> Bool {
        guard place.call == nil, let found = observation.place, found.call == nil else { return false }
        // Whoever waits further out has left the function that waited before: a start, or a loop within a handler, is over. On epoll the place
        // says nothing.
        let isOuter =
            found.stackPointer > place.stackPointer
            && (place.epoll == nil && found.rank == place.rank || restVisits < Self.sureVisits && found.rank >= place.rank)
        if !isOuter {
            if other.place?.isSame(as: found) != true { other = (found, 0) }
            if hasMoved { other.visits += 1 }
            // What programs wait on at their start is of a lower rank than their loop's object.
            // A handler's wait for one descriptor may have been seen first, and by turns since: then at once.
            let isAboveNow = found.rank > place.rank && (place.rank == 0 || other.visits >= Self.sureVisits)
            guard isAboveNow || other.visits >= Self.otherVisits && now >= restedNanoseconds &+ Self.goneNanoseconds else {
                return false
            }
        }
        place = found
        restVisits = 0
        return true
    }

    /// The thread could not be sampled: what it does now is not known.
    mutating func forget() {
        isAtWork = false
        last = nil
    }

    /// The loop was seen to go around.
    mutating func recordIteration(at time: UInt64) -> Step {
        guard isAtWork, time > beganNanoseconds else { return .nothing }
        beganNanoseconds = time
        return .iteration(time)
    }

    /// Whether it is to be found out if the loop goes around.
    func isInDoubt(at now: UInt64) -> Bool { isAtWork && now >= beganNanoseconds &+ Self.doubtNanoseconds }

    /// Whether it may be held for that: now and then, and not one that would notice, or that sleeps and was not woken since the last sample.
    mutating func mayBeHeld(at now: UInt64) -> Bool {
        guard isAtWork, let last, last.observation.canBeHeld, now >= beganNanoseconds &+ holdNanoseconds else { return false }
        if case .blocked = last.observation.doing, !hasMoved { return false }
        // A stall that is known is checked for its end.
        let isOld = now >= beganNanoseconds &+ 8 * holdNanoseconds
        guard !isOld || now >= heldNanoseconds &+ holdNanoseconds else { return false }
        heldNanoseconds = now
        return true
    }
}
