internal import CLagRemote
internal import LagActivity
internal import LagModel

extension LoopExaminer {
    /// Who may accept the connections that wait at a listening socket.
    enum Other {
        /// A loop that has come back from its wait lately.
        case loop(LoopExaminer)
        /// A process of whose waits nothing is known.
        case process(Int32)
    }

    /// So many loops are read for the first time in one look, each of up to 256 descriptors: all of them would take 40 ms of 64 loops. What was found counts for
    /// a second (``LoopService``).
    static let mostFirstReadings = 8

    /// Whether what is ready at the object waits for this loop. It does not where that are listening sockets alone from which others accept: as of a server's
    /// processes, which inherit one socket. While there are more clients than processes it is always ready, and who waits at it waits for the next process
    /// that is free.
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

    /// Whether the loop waits at one of these sockets; nil: it has to be read, and no reading is left.
    private func waits(for listeners: WaitObject, at now: UInt64, _ readingsLeft: inout Int) -> Bool? {
        withService { object, service in
            guard let object, !object.isRing else { return listeners.isInherited(by: process.pid) }
            guard let sockets = service.sockets(of: object, at: now, &readingsLeft) else { return nil }
            return listeners.hasOne(of: sockets)
        }
    }

    // MARK: On one epoll instance

    /// Searching the threads of a process takes 5 µs for each of them. That none waits is asked more often: between two of them there is a moment
    /// in which none does.
    private static let searchNanoseconds: UInt64 = 500_000_000
    private static let searchAgainNanoseconds: UInt64 = 40_000_000

    /// For so long an instance is shared with who was last known to fetch from it: a pool's threads come by more often, and one that has taken over
    /// a loop from another is its own soon.
    static let sharedNanoseconds: UInt64 = 5_000_000_000

    /// Who else fetches from the instance: a thread that the kernel shows asleep in a wait for it, or who is known to have come back from one.
    /// - Parameter known: what the loop's process says.
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
    /// Whether what another thread of the program asks the loop for may be in the loop's memory alone: libev writes to its eventfd for an `ev_async` only while the
    /// loop waits (`evpipe_write` of `ev.c`, 4.33).
    func mayHideWork(_ work: WaitObject.Work, _ state: inout State) -> Bool {
        work.pending == .none && work.kind == .loop && state.object?.epoll != nil && state.libev.isLoaded
            && ProcFile.numbers(in: "/proc/\(process.pid)/task", limit: 2).count > 1
    }
}
