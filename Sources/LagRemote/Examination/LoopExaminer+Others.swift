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
    /// - Parameter held: the sockets at which the clients wait, if the object is not ready
    ///   (``WaitObject/heldListeners(of:pidfd:process:)``).
    /// - Returns: ``PendingWork/unknown``: not known now, because not all others could be examined yet.
    func work(at object: WaitObject, held: WaitObject? = nil, besides others: [Other], at now: UInt64) -> PendingWork {
        guard !others.isEmpty,
            let listeners = held ?? object.readyListeners(pidfd: process.descriptor, process: process.pid)
        else { return .pending }
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
    /// How many threads are searched: for a line, and for an action.
    private static let mostThreads: UInt32 = 64
    private static let mostThreadsForProof: UInt32 = 256

    /// How long an instance counts as shared with the last thread that fetched from it: a pool's threads fetch more often, and a
    /// thread that has taken over a loop soon counts as its only owner.
    static let sharedNanoseconds: UInt64 = 5_000_000_000

    /// Which other thread fetches from the instance: one that the kernel shows asleep in a wait on it, or one that is known to
    /// have returned from such a wait.
    /// - Parameter known: what the loop's process publishes.
    /// - Returns: nil: not known, because the process has more threads than are searched, or they have to be searched first
    ///   (``searchForWaiter(at:)``). Only for an action.
    func sharing(
        of epoll: Int32,
        isForProof: Bool,
        _ known: (_ epoll: Int32) -> QuietRule.Sharing,
        _ state: inout State,
        at now: UInt64
    ) -> QuietRule.Sharing? {
        var sharing = known(epoll)
        // What the process publishes includes all its threads.
        let needsAll = isForProof && !isClaimed
        if sharing != .now {
            if !needsAll { searchForWaiter(epoll, &state, at: now) }
            let isKnown = isWaiterKnown(state, Self.mostThreadsForProof, at: now) && state.otherWaiter.found != nil
            if needsAll, !isKnown { return nil }
            if state.otherWaiter.found == true { sharing = .now }
        }
        if sharing == .now { state.sharedNanoseconds = now }
        guard sharing == .alone, let shared = state.sharedNanoseconds else { return sharing }
        // At full load no thread of a pool sleeps in its wait.
        if needsAll { return .now }
        return now < shared &+ Self.sharedNanoseconds ? .lately : .alone
    }

    /// Searches all threads that an action requires, if it is time. Call it without the lock: it takes more than a millisecond.
    func searchForWaiter(at now: UInt64) {
        guard !isClaimed else { return }
        let due: Int32? =
            tryState { (state: inout State) -> Int32? in
                guard let epoll = state.object?.epoll, !isWaiterKnown(state, Self.mostThreadsForProof, at: now) else {
                    return nil
                }
                let kind = state.service.kind(of: epoll, at: now)
                return kind == nil || kind == .helper ? epoll : nil
            } ?? nil
        guard let due else { return }
        let found = clr_epoll_has_other_waiter(process.pid, tid, due, Self.mostThreadsForProof)
        _ = tryState { state in
            if state.object?.epoll == due { state.otherWaiter = (found < 0 ? nil : found > 0, now, Self.mostThreadsForProof) }
        }
    }

    /// Whether so many threads were searched a moment ago, or all of them.
    private func isWaiterKnown(_ state: State, _ most: UInt32, at now: UInt64) -> Bool {
        let gap = state.otherWaiter.found == true ? Self.searchNanoseconds : Self.searchAgainNanoseconds
        guard now < state.otherWaiter.nanoseconds &+ gap else { return false }
        return state.otherWaiter.found != nil || state.otherWaiter.most >= most
    }

    /// Searches the threads that a line requires, if it is time.
    private func searchForWaiter(_ epoll: Int32, _ state: inout State, at now: UInt64) {
        guard !isWaiterKnown(state, Self.mostThreads, at: now) else { return }
        let found = clr_epoll_has_other_waiter(process.pid, tid, epoll, Self.mostThreads)
        state.otherWaiter = (found < 0 ? nil : found > 0, now, Self.mostThreads)
    }

    /// Whether another thread of the process was ever found to accept the connections that wait at the object; nil: not known,
    /// because it has more threads than are searched, or another thread's examination has not ended. Call it without the lock,
    /// also while nothing is pending: at full load, no thread of a pool sleeps in `accept`. (The loop may wait for another set by
    /// now: what was found for a set expires.)
    func hasOtherAcceptor(of object: WaitObject, at now: UInt64) -> Bool? {
        guard let known = tryState({ $0.acceptor }) else { return nil }
        if let known {
            let nanoseconds = known.found == true ? Self.foundAcceptorNanoseconds : Self.acceptorNanoseconds
            if known.found == true && object.epoll != nil || now < known.nanoseconds &+ nanoseconds { return known.found }
        }
        let found = object.hasOtherAcceptor(process: process.pid, tid: tid, most: Self.mostThreadsForProof)
        _ = tryState { if $0.object?.epoll == object.epoll { $0.acceptor = (found, now) } }
        return found
    }

    private static let acceptorNanoseconds: UInt64 = 1_000_000_000
    private static let foundAcceptorNanoseconds: UInt64 = 60_000_000_000
}

extension LoopExaminer {
    /// Whether a request of another thread of the program may be visible only in the loop's memory: libev writes to its eventfd
    /// for an `ev_async` only while the loop waits (`evpipe_write` of `ev.c`, 4.33).
    func mayHideWork(_ work: WaitObject.Work, _ state: inout State) -> Bool {
        guard work.pending == .none, work.kind == .loop, state.object?.epoll != nil else { return false }
        return state.libraries.has(.libev) && ProcFile.numbers(in: "/proc/\(process.pid)/task", limit: 2).count > 1
    }
}
