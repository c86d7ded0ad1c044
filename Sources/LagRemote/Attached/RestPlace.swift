/// Where a thread rests, found by sampling it: the call it is seen asleep in again and again.
///
/// A wait for events of several descriptors counts as such; of a thread that was named as a loop, any other call does as well, once it has
/// been seen there often enough. Values in, values out: no clock is read here.
struct RestPlace: Sendable, Equatable {
    /// The call; nil: any wait for events.
    let call: Int64?
    /// The stack pointer that the call is made with: lower in a wait within a handler.
    var stackPointer: UInt64
    /// Where the call returns to: of one loop it may be several.
    var programCounter: UInt64
    /// The descriptor of the epoll instance that it waits on; nil: another wait, which its place identifies.
    var epoll: Int32?

    /// How likely the wait is an event loop's: 0 for at most one descriptor, 1 for several, 2 for epoll. Handlers poll as well, mostly for one
    /// descriptor.
    var rank = 0
    /// Of a wait for events, which kind of call it is (`clr_wait_kind`): two functions of the C library may by chance wait at one stack pointer. Nil: not
    /// known.
    var kind: Int32?

    /// Whether what a handler calls lies further in on the stack: calls of CPython from 3.11 on, Ruby, Perl and PHP are not on the C stack.
    var callsNest = true

    /// Whether it is the place of the same loop: an epoll instance is the same loop from wherever it is waited on.
    func isSame(as other: RestPlace) -> Bool {
        if epoll != nil || other.epoll != nil { return epoll == other.epoll }
        guard kind == nil || other.kind == nil || kind == other.kind else { return false }
        return call == other.call && stackPointer == other.stackPointer
    }

    /// The most that the C library's functions around one call take of the stack.
    #if arch(arm64)
        static let callBytes: UInt64 = 128
    #else
        static let callBytes: UInt64 = 64
    #endif
    /// So long is the C library's function at most.
    private static let functionBytes: UInt64 = 256

    /// Whether it is a wait in the same function of the C library, at another instruction and a little further in: for more see ``WaitReturn``.
    func mayBeSameCall(as other: RestPlace) -> Bool {
        guard let kind, kind == other.kind, epoll == nil, other.epoll == nil, programCounter != other.programCounter else {
            return false
        }
        let (low, high) = (min(programCounter, other.programCounter), max(programCounter, other.programCounter))
        return high - low < Self.functionBytes && other.stackPointer < stackPointer
            && stackPointer - other.stackPointer <= Self.callBytes
    }

    /// Whether a thread that makes this place's call makes it for the loop, and not for a handler: what a handler calls lies deeper in the stack than the
    /// loop's wait, where calls nest. An epoll instance is the same loop from wherever it is waited on.
    /// - Parameter stackPointer: `UInt64.max`: not known. Then it counts as the loop's, as one that waits further out does.
    func isLoopsOwn(stackPointer: UInt64, firstArgument: UInt64) -> Bool {
        let isOnEpoll = epoll == Int32(truncatingIfNeeded: firstArgument)
        guard !callsNest, stackPointer != .max else { return stackPointer >= self.stackPointer || isOnEpoll }
        // An interpreter calls the loop's wait another way once its code has run some times.
        let distance = max(stackPointer, self.stackPointer) - min(stackPointer, self.stackPointer)
        return epoll == nil ? distance <= 2 * Self.callBytes : isOnEpoll
    }
}

/// Finds the place of one thread.
struct RestPlaceFinder: Sendable {
    /// How much it takes to believe that the thread is a loop.
    enum Trust: Sendable {
        /// One wait for events: the main thread.
        case first
        /// Some, between which it ran: others have helpers that wait once in a while. One that accepts connections by an epoll instance of its own is
        /// known by that: a wait of such a loop can take a second, and its stalls keep it from waiting.
        case some
        /// One wait for events, or some sleeps in any other call: it was named as a loop.
        case named
    }

    private let trust: Trust
    private var candidate: RestPlace?
    private var visits = 0
    private var lastRuns: UInt64?

    private static let visitsOfHelper = 3
    private static let visitsOfCall = 8

    init(_ trust: Trust) { self.trust = trust }

    /// - Parameter accepts: whether the thread accepts connections by this epoll instance, and no other thread does.
    /// - Returns: the place, as soon as it is known.
    mutating func observe(_ observation: ThreadObservation, accepts: (_ epoll: Int32) -> Bool = { _ in false }) -> RestPlace? {
        guard let place = observation.place else { return nil }
        if place.call == nil, trust != .some { return place }
        // Asked once for each instance.
        if let epoll = place.epoll, candidate?.epoll != epoll, accepts(epoll) { return place }
        guard place.call == nil || trust == .named else { return nil }
        if candidate?.isSame(as: place) != true { (candidate, visits, lastRuns) = (place, 0, nil) }
        // Still the same sleep says nothing new.
        if observation.runs != lastRuns { visits += 1 }
        lastRuns = observation.runs
        return visits >= (place.call == nil ? Self.visitsOfHelper : Self.visitsOfCall) ? place : nil
    }
}
