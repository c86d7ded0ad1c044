/// Where a thread rests, found by sampling: the call in which it is repeatedly seen asleep.
///
/// A wait for events of several descriptors counts; for a thread that was named as a loop, any other call counts as well, once it
/// has been seen there often enough. Pure: no clock is read here.
struct RestPlace: Sendable, Equatable {
    /// The call; nil: any wait for events.
    let call: Int64?
    /// The stack pointer of the call: lower in a wait within a handler.
    var stackPointer: UInt64
    /// The return address of the call: one loop may have several.
    var programCounter: UInt64
    /// The descriptor of the epoll instance; nil: another wait, which its place identifies.
    var epoll: Int32?

    /// How likely the wait is an event loop's: 0 for at most one descriptor, 1 for several, 2 for epoll. Handlers poll as well, mostly for one
    /// descriptor.
    var rank = 0
    /// For a wait for events, the kind of call (`clr_wait_kind`): two functions of the C library may by chance wait at the same
    /// stack pointer. Nil: not known.
    var kind: Int32?

    /// Whether a handler's calls are deeper in the stack: calls of CPython from 3.11 on, Ruby, Perl and PHP are not on the C
    /// stack.
    var callsNest = true

    /// Whether it is the place of the same loop: an epoll instance is the same loop wherever it is waited on.
    func isSame(as other: RestPlace) -> Bool {
        if epoll != nil || other.epoll != nil { return epoll == other.epoll }
        guard kind == nil || other.kind == nil || kind == other.kind else { return false }
        return call == other.call && stackPointer == other.stackPointer
    }

    /// The maximum stack that the C library's functions around one call use.
    #if arch(arm64)
        static let callBytes: UInt64 = 128
    #else
        static let callBytes: UInt64 = 64
    #endif
    /// The maximum length of the C library's function.
    private static let functionBytes: UInt64 = 256

    /// Whether it is a wait in the same function of the C library, at another instruction and a little deeper; see also
    /// ``WaitReturn``.
    func mayBeSameCall(as other: RestPlace) -> Bool {
        guard let kind, kind == other.kind, epoll == nil, other.epoll == nil, programCounter != other.programCounter else {
            return false
        }
        let (low, high) = (min(programCounter, other.programCounter), max(programCounter, other.programCounter))
        return high - low < Self.functionBytes && other.stackPointer < stackPointer
            && stackPointer - other.stackPointer <= Self.callBytes
    }

    /// Whether a thread makes this place's call for the loop, and not for a handler: if calls nest, a handler's calls are deeper
    /// in the stack than the loop's wait. An epoll instance is the same loop wherever it is waited on.
    /// - Parameter stackPointer: `UInt64.max`: not known. Then it counts as the loop's, like a wait further out.
    func isLoopsOwn(stackPointer: UInt64, firstArgument: UInt64) -> Bool {
        let isOnEpoll = epoll == Int32(truncatingIfNeeded: firstArgument)
        guard !callsNest, stackPointer != .max else { return stackPointer >= self.stackPointer || isOnEpoll }
        // An interpreter calls the loop's wait with other C frames after its code has run some times.
        let distance = max(stackPointer, self.stackPointer) - min(stackPointer, self.stackPointer)
        return epoll == nil ? distance <= 2 * Self.callBytes : isOnEpoll
    }
}

/// Finds the resting place of one thread.
struct RestPlaceFinder: Sendable {
    /// The evidence that is needed to consider the thread a loop.
    enum Trust: Sendable {
        /// One wait for events: the main thread.
        case first
        /// Several waits, between which it ran: other threads may be helpers that wait occasionally. A thread that accepts
        /// connections with its own epoll instance is recognised by that: a wait of such a loop can take a second, and its stalls
        /// keep it from waiting. Another thread with its own instance is found at once, and not known to be a loop.
        case some
        /// One wait for events, or some sleeps in any other call: it was named as a loop.
        case named
    }

    /// What is known about an epoll instance on which a thread was first seen to wait.
    enum InstanceUse: Sendable {
        /// Other threads wait on it, or that is not known.
        case shared
        /// No other thread does: the thread is a candidate.
        case own
        /// In addition, it watches a listening socket.
        case accepting
    }

    /// The work of a thread that rests in `accept`: what it waits for meanwhile belongs to a job.
    struct Job: Sendable, Equatable {
        let listener: Int32
        /// When it was last seen to rest there.
        let nanoseconds: UInt64
    }

    private let trust: Trust
    /// Nil: the thread was not seen to rest in `accept`.
    private(set) var job: Job?
    /// Whether the found place may not be a loop's (``Candidacy``).
    private(set) var isProvisional = false
    private var candidate: RestPlace?
    private var isOwn = false
    private var visits = 0
    private var lastRuns: UInt64?

    /// Also for a thread that is watched before (``Candidacy``).
    static let visitsOfHelper = 3
    private static let visitsOfCall = RestConfirmation.rests
    /// A job that waits for this long at one place is itself a loop. (The preloaded library, which counts every wait, requires more
    /// of them: 32.)
    private static let jobNanoseconds = RestConfirmation.longNanoseconds

    init(_ trust: Trust) { self.trust = trust }

    /// A thread that was last seen to rest at this listening socket.
    init(_ trust: Trust, restsAt listener: Int32, _ nanoseconds: UInt64) {
        self.init(trust)
        job = Job(listener: listener, nanoseconds: nanoseconds)
    }

    /// - Parameters:
    ///   - use: queried once for each instance, and again when a thread that had to wait for that may be watched.
    ///   - mayBeProvisional: whether one more thread may be watched that may not be a loop's.
    ///   - excludes: whether its present wait is not for the listening socket at which the thread rests.
    /// - Returns: the place, as soon as it is known.
    mutating func observe(
        _ observation: ThreadObservation,
        at now: UInt64 = 0,
        use: (_ epoll: Int32) -> InstanceUse = { _ in .shared },
        mayBeProvisional: () -> Bool = { true },
        excludes: (_ listener: Int32) -> Bool = { _ in false }
    ) -> RestPlace? {
        if let listener = observation.listener, trust != .named {
            (job, candidate) = (Job(listener: listener, nanoseconds: now), nil)
        }
        isProvisional = false
        guard let place = observation.place else { return nil }
        let isJobs = job.map { place.call == nil && excludes($0.listener) } ?? false
        if place.call == nil, trust != .some, !isJobs { return place }
        if let epoll = place.epoll, candidate?.epoll != epoll || isOwn && !isJobs && mayBeProvisional() {
            let use = use(epoll)
            if use == .accepting { return place }
            isOwn = use == .own
        }
        guard place.call == nil || trust == .named else { return nil }
        if candidate?.isSame(as: place) != true { (candidate, visits, lastRuns) = (place, 0, nil) }
        // The same sleep gives no new evidence.
        if observation.runs != lastRuns { visits += 1 }
        lastRuns = observation.runs
        let isEnough = visits >= (place.call == nil && !isJobs ? Self.visitsOfHelper : Self.visitsOfCall)
        let isLong = job.map { !isJobs || now >= $0.nanoseconds &+ Self.jobNanoseconds } ?? true
        if isEnough, isLong { return place }
        isProvisional = isOwn && place.epoll != nil && !isJobs && mayBeProvisional()
        return isProvisional ? place : nil
    }
}
