internal import CLagLinux
internal import CLagRemote
internal import LagActivity
internal import Synchronization

/// Finds out whether work waits for a loop's thread while it is elsewhere: the same for loops that the preloaded library
/// publishes and for sampled loops.
///
/// Any thread; mostly called by the watchdog's. The lock is held during an examination: some 10 µs, for CPython, Ruby, Perl and
/// PHP (``CallChainReader``) up to a millisecond, plus 3 µs for each socket of a process that waits for a lock among
/// processes, and 5 µs for each thread (at most 64) if another one may fetch the events. More threads are searched without it.
package final class LoopExaminer: Sendable {
    struct State {
        var object: WaitObject?
        /// It creates an instance for each wait, so there is none while a handler runs.
        var isMadeAnew = false
        /// The kernel does not show what the thread does: then the claim of its process decides.
        var isRefused = false
        /// It waits on a ring of io_uring, which belongs to a loop, and cannot be polled.
        var isRing = false
        /// When it is read again.
        var pace = RestPace(shortestNanoseconds: RestPace.firstNanoseconds)
        /// In which call it was read.
        var readCall = cll_thread_syscall()
        /// The address on its own stack where it has its events stored.
        var events: UInt64?
        /// The last stretch of work in which a thread that was never found in its wait was reported to serve a connection.
        var servedStretch: UInt64?
        /// Its object, derived from that connection; only for that stretch.
        var served: WaitObject?
        /// The calls of its language that the thread was in there.
        var readCalls: CallChain?
        /// The last stretch of work in which an examination found no event ready.
        var idleStretch: UInt64?
        /// The last call of which an examination has found out whether it is in a handler. A proof only compares with it.
        var examined: ExaminedCall?
        var calls: CallChainReader
        var libraries: LibrarySearch
        /// The epoll instance on which the kernel has shown the thread waiting.
        var seenEpoll: Int32?
        /// The beacon's words of the rest in which it was read, and of the last recorded rest.
        var readWord: UInt64 = 0
        var restWord: UInt64 = 0
        var otherWaiter: (found: Bool?, nanoseconds: UInt64, most: UInt32) = (false, 0, 0)
        /// Whether another thread accepts connections at the object, for proofs; nil: not searched for yet.
        var acceptor: (found: Bool?, nanoseconds: UInt64)?
        /// When another thread was last known to wait on its instance, or to fetch from it: with leaders and followers, a
        /// follower rests outside its wait.
        var sharedNanoseconds: UInt64?
        var service: LoopService
        var signals = WaitObject.SignalMembers()
        /// The start of the process's first stack; 0: not known.
        var firstStack: UInt64?
        var pause = PausePlace()
        /// The last call in which the thread was found, for when the kernel restarts it.
        var lastCall = cll_thread_syscall()
        var turns = RingProgress()
        /// Only for proofs: the beacon's words of a publishing loop are claims.
        var provedTurns = RingProgress()
    }

    let process: ProcessHandle
    let tid: Int32
    /// A thread that its user, or its own program, declares to be a loop: any blocking call is a stall.
    let isDeclared: Bool
    /// Being a loop is only a claim of the shared table, which every process of the command can write.
    let isClaimed: Bool
    let state: Mutex<State>
    /// Whether the thread was only seen to wait for no descriptor; false before its first wait was read. Written with the lock,
    /// and read by threads that must not wait for an examination.
    let isTimeAlone = Atomic<Bool>(false)

    init(_ process: ProcessHandle, tid: Int32, isDeclared: Bool, isClaimed: Bool = false) {
        self.process = process
        self.tid = tid
        self.isDeclared = isDeclared
        self.isClaimed = isClaimed
        let calls = CallChainReader(process: process.pid, tid: tid)
        state = Mutex(State(calls: calls, libraries: LibrarySearch(process: process.pid), service: LoopService(of: process)))
    }

    /// Whether the calls of the thread's language, which are not on the C stack, are read.
    var readsCalls: Bool { state.withLock { $0.readCalls != nil } }

    /// Call it when the thread rests at its loop's place.
    /// - Parameters:
    ///   - call: where it sleeps; nil: to be read, if it is time.
    ///   - word: the beacon's word of this rest, if there is a beacon; 0: none.
    ///   - isUnmoved: whether it has slept since the last call.
    ///   - isMadeAnew: whether it creates an epoll instance for each wait, as its process publishes.
    ///   - isStillThere: whether it is still at the loop's place: the object of a handler's wait does not belong to the loop.
    func recordRest(
        _ call: cll_thread_syscall? = nil,
        word: UInt64 = 0,
        at now: UInt64,
        isUnmoved: Bool = false,
        isMadeAnew: Bool = false,
        isStillThere: () -> Bool = { true }
    ) {
        state.withLock { state in
            // A rest in progress may last, and is not examined again before it ends: its object must be read now.
            let isLasting = word != 0 && word == state.restWord && word != state.readWord
            state.restWord = word
            // At another place it may be another object, as after a start. (An epoll instance is the same at any place.)
            let isElsewhere = state.object?.epoll == nil && call.map { $0.sp != state.readCall.sp } ?? false
            let isDue = state.pace.isDue(at: now, isUnmoved: isUnmoved)
            guard isDue || isElsewhere || isLasting || state.object == nil else { return }
            var found = cll_thread_syscall()
            if let call {
                found = call
            } else {
                let result = cll_procfs_syscall(process.pid, tid, &found)
                state.isRefused = result < 0
                guard result == Int32(CLL_SYSCALL_BLOCKED) else { return }
            }
            let object = WaitObject(process: process.pid, of: found)
            let calls = state.calls.read()
            guard isAsleep(in: found), isStillThere() else { return }
            guard let object else {
                // Of another kind, its arguments could not be read.
                state.isRing = Int(clr_wait_kind(found.number)) == CLR_WAIT_RING
                return
            }
            let wasTimeAlone = state.object == nil || isTimeAlone.load(ordering: .relaxed)
            isTimeAlone.store(wasTimeAlone && object.isTimeAlone, ordering: .relaxed)
            Self.setObject(object, of: &state)
            // A handler may remove the members.
            _ = state.service.kind(of: object.epoll, at: now)
            state.isMadeAnew = isMadeAnew
            state.seenEpoll = object.epoll
            state.pace.recordDone(at: now)
            state.readWord = word
            state.readCall = found
            state.events = WaitObject.eventsOnStack(of: found)
            state.readCalls = calls
        }
    }

    /// The object that the loop waits on, if its process publishes it.
    func record(epoll: Int32) { state.withLock { record(epoll, &$0) } }

    private func record(_ epoll: Int32, _ state: inout State) {
        guard state.object?.epoll != epoll else { return }
        Self.setObject(WaitObject(epoll: epoll), of: &state)
        isTimeAlone.store(false, ordering: .relaxed)
        state.isMadeAnew = false
        state.events = nil
    }

    /// - Parameters:
    ///   - limit: a thread that sleeps at a stack pointer above this has left the function that waits for the loop.
    ///   - isProvisional: whether it may not be a loop. (For an epoll instance its process knows that it is the same one.)
    ///   - isYoung: whether all its waits were within some seconds, like those of a start, which is not a loop.
    ///   - isServing: whether it serves a connection that was accepted at the loop's place, within the loop, however young: its
    ///     process publishes that.
    ///   - stretch: the beacon's word of the current stretch of work.
    ///   - begin: when that began; 0: not known.
    ///   - isHandler: whether the thread is in a handler by its calls, although it sleeps above the limit; called with the stack
    ///     address of its wait's events; nil: elsewhere.
    ///   - sharing: whether another thread has fetched from that epoll instance, just now or in the last ``sharedNanoseconds``.
    ///   - others: loops that may accept the connections that wait at this loop's listening sockets.
    func examine(
        limit: UInt64,
        at now: UInt64,
        stretch: UInt64 = 0,
        since begin: UInt64 = 0,
        isProvisional: Bool = false,
        isYoung: Bool = false,
        isServing: Bool = false,
        isHandler: (_ events: UInt64?) -> Bool = { _ in false },
        sharing: (_ epoll: Int32) -> QuietRule.Sharing = { _ in .alone },
        others: () -> [Other] = { [] }
    ) -> LoopExamination {
        let found = state.withLock { state in
            readFacts(
                limit: limit,
                at: now,
                stretch: stretch,
                since: begin,
                isProvisional: isProvisional,
                isYoung: isYoung && !isServing,
                isServing: isServing,
                sharing,
                &state
            )
        }
        var facts = complete(found, isForAction: false, at: now, others).rule
        var examined = found.examined
        if isHandlerByCalls(facts, &examined, isHandler) { facts.doing = .waiting(isFurtherOut: false) }
        if let examined, stretch != 0 { state.withLock { $0.examined = examined } }
        let isQuiet = !isDeclared && facts.isQuiet
        return LoopExamination(
            isQuiet: isQuiet,
            isResting: isQuiet && (facts.doing == .waitingForAll || facts.doing == .waitingElsewhere),
            isDoubtful: !isDeclared && facts.isDoubtful,
            keepsDoubt: !isDeclared && facts.keepsDoubt,
            mayBeOver: isQuiet && facts.kind == .gone,
            isOver: isQuiet && (facts.doing == .ending || facts.kind == .gone && process.end.mayBeEnd(since: begin, at: now)),
            work: facts.pending
        )
    }

    /// The proof that an action needs. A claim of the shared table proves nothing: another process may have written it.
    /// - Parameters:
    ///   - epoll: the object that the loop waits on, if its process publishes it.
    ///   - isForAction: false: only whether it is a loop is needed.
    /// - Returns: nil: not known now: another thread's examination has not ended, the process has too many threads, or what has
    ///   shown a handler cannot be read.
    func proof(
        limit: UInt64,
        epoll: Int32? = nil,
        at now: UInt64,
        stretch: UInt64 = 0,
        since begin: UInt64 = 0,
        isYoung: Bool = false,
        isForAction: Bool = true,
        sharing: (_ epoll: Int32) -> QuietRule.Sharing = { _ in .alone },
        others: () -> [Other] = { [] }
    ) -> LoopProof? {
        searchForWaiter(at: now)
        let found: Facts? =
            tryState { (state: inout State) -> Facts in
                if let epoll { record(epoll, &state) }
                return readFacts(
                    limit: limit,
                    at: now,
                    stretch: stretch,
                    since: begin,
                    isYoung: isYoung,
                    isForProof: true,
                    sharing,
                    &state
                )
            }
        guard let found, found.isKnown else { return nil }
        let (facts, isKnown) = complete(found, isForAction: isForAction, at: now, others)
        guard isDeclared, !isClaimed else {
            let isWitnessed = isClaimed && facts.isProved && !facts.isByStretch && isSeen()
            let isWorkPending = facts.pending == .pending && facts.hasClientWork == true && !facts.isByStretch
            return LoopProof(
                isLoop: facts.isProved,
                isWorkPending: isKnown ? isWorkPending : nil,
                isWitnessed: isWitnessed,
                sleeps: found.sleeps
            )
        }
        // The user declared it a loop: pending work that the kernel cannot see is assumed.
        return LoopProof(isLoop: true, isWorkPending: facts.pending == .pending || facts.pending == .unknown)
    }
}
