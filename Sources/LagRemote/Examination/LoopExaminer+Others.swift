internal import CLagRemote
internal import LagActivity
internal import LagModel

extension LoopExaminer {
    /// A loop or process that may accept the connections that wait at a listening socket.
    enum Other {
        /// A loop that has recently returned from its wait.
        case loop(LoopExaminer)
        /// A process with unknown waits.
        case process(Int32)
    }

    /// How many loops are read for the first time in one examination, each with up to 256 descriptors: all of 64 loops would take
    /// 40 ms. A result is valid for a second (``LoopService``).
    static let mostFirstReadings = 8

    /// Whether the ready events at the object wait for this loop. They do not if only listening sockets are ready from which
    /// others accept, as for a server's processes that inherit one socket. While there are more clients than processes, the
    /// socket is always ready, and its clients wait for the next free process.
    /// - Returns: ``PendingWork/unknown``: not known now, because not all others could be examined yet.
    func work(at object: WaitObject, besides others: [Other], at now: UInt64) -> PendingWork {
        guard !others.isEmpty, let listeners = object.readyListeners(pidfd: process.descriptor, process: process.pid) else {
            return .pending
        }
        var (readingsLeft, isKnown) = (Self.mostFirstReadings, true)
        for other in others {
            let isFor: Bool? =
                switch other {
                case .process(let process): listeners.isInherited(by: process)
                case .loop(let examiner): examiner.waits(for: listeners, at: now, &readingsLeft)
                }
            if isFor == true { return .none }
            isKnown = isKnown && isFor != nil
        }
        return isKnown ? .pending : .unknown
    }

    /// Whether the loop waits at one of these sockets; nil: it must be read, but no more readings are allowed, or another thread
    /// has been examining it for long.
    private func waits(for listeners: WaitObject, at now: UInt64, _ readingsLeft: inout Int) -> Bool? {
        var left = readingsLeft
        defer { readingsLeft = left }
        let isFor: Bool?? = tryState { state in
            guard let object = state.object, !object.isRing else { return listeners.isInherited(by: process.pid) }
            guard let sockets = state.service.sockets(of: object, at: now, &left) else { return nil }
            return listeners.hasOne(of: sockets)
        }
        return isFor ?? nil
    }

    // MARK: On one epoll instance

    /// Searching the threads of a process takes 5 µs per thread. A negative result is checked more often, because between two
    /// waits there is a moment in which no thread waits.
    private static let searchNanoseconds: UInt64 = 500_000_000
    private static let searchAgainNanoseconds: UInt64 = 40_000_000

    /// How long an instance counts as shared with the last thread that fetched from it: a pool's threads fetch more often, and a
    /// thread that has taken over a loop soon counts as its only owner.
    static let sharedNanoseconds: UInt64 = 5_000_000_000

    /// Which other thread fetches from the instance: one that the kernel shows asleep in a wait on it, or one that is known to
    /// have returned from such a wait.
    /// - Parameter known: what the loop's process publishes.
    func sharing(of epoll: Int32, _ known: (_ epoll: Int32) -> QuietRule.Sharing, _ state: inout State, at now: UInt64)
        -> QuietRule.Sharing
    {
        var sharing = known(epoll)
        if sharing != .now, hasOtherWaiter(epoll, &state, at: now) { sharing = .now }
        if sharing == .now { state.sharedNanoseconds = now }
        guard sharing == .alone, let shared = state.sharedNanoseconds, now < shared &+ Self.sharedNanoseconds else {
            return sharing
        }
        return .lately
    }

    private func hasOtherWaiter(_ epoll: Int32, _ state: inout State, at now: UInt64) -> Bool {
        let gap = state.otherWaiter.found ? Self.searchNanoseconds : Self.searchAgainNanoseconds
        guard now >= state.otherWaiter.nanoseconds &+ gap else { return state.otherWaiter.found }
        state.otherWaiter = (clr_epoll_has_other_waiter(process.pid, tid, epoll) != 0, now)
        return state.otherWaiter.found
    }
}

extension LoopExaminer {
    /// Whether a request of another thread of the program may be visible only in the loop's memory: libev writes to its eventfd
    /// for an `ev_async` only while the loop waits (`evpipe_write` of `ev.c`, 4.33).
    func mayHideWork(_ work: WaitObject.Work, _ state: inout State) -> Bool {
        guard work.pending == .none, work.kind == .loop, state.object?.epoll != nil else { return false }
        return state.libraries.has(.libev) && ProcFile.numbers(in: "/proc/\(process.pid)/task", limit: 2).count > 1
    }
}
