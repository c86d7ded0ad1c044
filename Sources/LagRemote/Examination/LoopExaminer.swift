internal import CLagLinux
internal import CLagRemote
internal import LagActivity
internal import Synchronization

/// Finds out of one loop's thread whether work waits for it while it is elsewhere: the same for loops that the preloaded library publishes and for
/// those that are sampled.
///
/// Any thread; the watchdog's asks most. The lock is held for as long as an examination takes: some 10 µs, of CPython, Ruby, Perl and PHP (``CallChainReader``) 50, and 3 for each socket of one that waits for a lock among processes.
package final class LoopExaminer: Sendable {
    struct State {
        var object: WaitObject?
        /// It makes one for each wait, so that there is none while a handler runs.
        var isMadeAnew = false
        /// The kernel does not say what the thread does: then a loop is what its process says to be one.
        var isRefused = false
        /// It waits on a ring of io_uring, which is a loop's, and cannot be asked.
        var isRing = false
        /// When it was read, and of a wait at which stack pointer.
        var readNanoseconds: UInt64 = 0
        var readStackPointer: UInt64 = 0
        /// Where on its own stack it has its events put.
        var events: UInt64?
        /// The stretch of work in which a thread that was never found in its wait was last said to serve a connection.
        var servedStretch: UInt64?
        /// What it waits on, by that connection, in that stretch alone.
        var served: WaitObject?
        /// In which calls of its language the thread was there.
        var readCalls: CallChain?
        /// The stretch of work in which the thread was last found in a handler by those calls.
        var handlerStretch: UInt64?
        var calls: CallChainReader
        var glib: LibrarySearch
        var libev: LibrarySearch
        /// The epoll instance that the kernel has shown the thread to wait on.
        var seenEpoll: Int32?
        /// The beacon's words of the rest in which it was read, and of the one that was recorded last.
        var readWord: UInt64 = 0
        var restWord: UInt64 = 0
        var otherWaiter: (found: Bool, nanoseconds: UInt64) = (false, 0)
        /// When another thread was last known to wait on its instance, or to fetch from it: leaders and followers, of which one that follows rests
        /// beside its wait.
        var sharedNanoseconds: UInt64?
        var service: LoopService
        var signals = WaitObject.SignalMembers()
        /// Where the process's first stack begins; 0: not known.
        var firstStack: UInt64?
        var pause = PausePlace()
        var turns = RingTurns()
        /// Of what proofs have seen alone: the beacon's words of a loop that publishes are claims.
        var provedTurns = RingTurns()
    }

    let process: ProcessHandle
    let tid: Int32
    /// A thread that its user, or its own program, says to be a loop: what it blocks in is a stall.
    private let isDeclared: Bool
    /// That it is one is a claim of the shared table, which every process of the command can write.
    private let isClaimed: Bool
    let state: Mutex<State>

    /// The descriptors of a set may change with each wait.
    private static let readAgainNanoseconds: UInt64 = 100_000_000

    init(_ process: ProcessHandle, tid: Int32, isDeclared: Bool, isClaimed: Bool = false) {
        self.process = process
        self.tid = tid
        self.isDeclared = isDeclared
        self.isClaimed = isClaimed
        let calls = CallChainReader(process: process.pid, tid: tid)
        let glib = LibrarySearch(process: process.pid, name: "libglib-2.0.so")
        let libev = LibrarySearch(process: process.pid, name: "libev.so")
        state = Mutex(State(calls: calls, glib: glib, libev: libev, service: LoopService(of: process)))
    }

    /// - Parameter body: gets what the thread waits on; nil: it was never seen there.
    func withService<Result>(_ body: (WaitObject?, inout LoopService) -> Result) -> Result {
        state.withLock { body($0.object, &$0.service) }
    }

    /// Whether the calls of the thread's language are read, which are not on the C stack.
    var readsCalls: Bool { state.withLock { $0.readCalls != nil } }

    /// The thread rests at its loop's place.
    /// - Parameters:
    ///   - call: where it sleeps; nil: to be read, if it is time.
    ///   - word: the beacon's word of this rest, where there is a beacon; 0: there is none.
    ///   - isMadeAnew: whether it makes an epoll instance for each wait, as its process says.
    ///   - isStillThere: whether it has not left the loop's place meanwhile: what a handler waits on is not the loop's.
    func recordRest(
        _ call: cll_thread_syscall? = nil,
        word: UInt64 = 0,
        at now: UInt64,
        isMadeAnew: Bool = false,
        isStillThere: () -> Bool = { true }
    ) {
        state.withLock { state in
            // A rest that goes on may last, and nobody looks at it again before it ends: what it waits for is what counts then.
            let isLasting = word != 0 && word == state.restWord && word != state.readWord
            state.restWord = word
            // At another place it may be another object's, as after a start. (An epoll instance is the same from wherever it is waited on.)
            let isElsewhere = state.object?.epoll == nil && call.map { $0.sp != state.readStackPointer } ?? false
            guard isElsewhere || isLasting || state.object == nil || now >= state.readNanoseconds &+ Self.readAgainNanoseconds
            else { return }
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
                state.isRing = clr_wait_kind(found.number) != 0
                return
            }
            state.object = object
            // A handler may take the members out.
            _ = state.service.kind(of: object.epoll, at: now)
            state.isMadeAnew = isMadeAnew
            state.seenEpoll = object.epoll
            state.readNanoseconds = now
            state.readWord = word
            state.readStackPointer = found.sp
            state.events = WaitObject.eventsOnStack(of: found)
            state.readCalls = calls
        }
    }

    /// What the loop waits on, where its process says so.
    func record(epoll: Int32) {
        state.withLock { state in
            guard state.object?.epoll != epoll else { return }
            state.object = WaitObject(epoll: epoll)
            state.isMadeAnew = false
            state.events = nil
        }
    }

    /// - Parameters:
    ///   - limit: a thread that sleeps at a stack pointer above this has left the function that waits for the loop.
    ///   - isProvisional: it may run no loop. (Of an epoll instance its process knows that it is the same one.)
    ///   - isYoung: all its waits were within some seconds, as those of a start are, which is no loop.
    ///   - isServing: a connection that came at the loop's place, which has the loop around it, however young: what its process says.
    ///   - stretch: the beacon's word of the present stretch of work.
    ///   - begin: when that began; 0: it is not known.
    ///   - isHandler: whether by its calls the thread is in a handler, although it sleeps above the limit: asked with where on the stack its wait has its events; nil: elsewhere.
    ///   - sharing: whether another thread has fetched from that epoll instance, just now or in the last ``sharedNanoseconds``.
    ///   - others: loops that may accept the connections that wait at a listening socket of this one's.
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
        var facts = facts(
            limit: limit,
            at: now,
            stretch: stretch,
            since: begin,
            isProvisional: isProvisional,
            isYoung: isYoung && !isServing,
            isServing: isServing,
            sharing,
            others
        )
        // What the wait itself has on the stack may be more than all of a handler. (For an action the stack's bytes have to say the same.)
        if facts.isQuietByPlace, state.withLock({ $0.sharedNanoseconds == nil }), isHandler(state.withLock { $0.events }) {
            facts.doing = .waiting(isFurtherOut: false)
        }
        let isQuiet = !isDeclared && facts.isQuiet
        return LoopExamination(
            isQuiet: isQuiet,
            isResting: isQuiet && (facts.doing == .waitingForAll || facts.doing == .waitingElsewhere),
            isDoubtful: !isDeclared && facts.isDoubtful,
            isOver: isQuiet && (facts.doing == .ending || facts.kind == .gone && process.end.mayBeEnd(since: begin, at: now)),
            work: facts.pending
        )
    }

    /// What an action needs. A claim of the shared table proves nothing here: it may be another process's.
    func proof(
        limit: UInt64,
        at now: UInt64,
        stretch: UInt64 = 0,
        since begin: UInt64 = 0,
        isYoung: Bool = false,
        sharing: (_ epoll: Int32) -> QuietRule.Sharing = { _ in .alone },
        others: () -> [Other] = { [] }
    ) -> LoopProof {
        let facts = facts(
            limit: limit,
            at: now,
            stretch: stretch,
            since: begin,
            isYoung: isYoung,
            isForProof: true,
            sharing,
            others
        )
        guard isDeclared, !isClaimed else {
            let isWitnessed = isClaimed && facts.isProved && isSeen()
            let isWorkPending = facts.pending == .pending && facts.hasClientWork == true
            return LoopProof(isLoop: facts.isProved, isWorkPending: isWorkPending, isWitnessed: isWitnessed)
        }
        // Its user's word for it: what the kernel cannot see of its work is pending.
        return LoopProof(isLoop: true, isWorkPending: facts.pending == .pending || facts.pending == .unknown)
    }

    /// Whether the thread was seen in its wait by the kernel, and sleeps deeper in the stack than there, in a call that is no wait for events.
    private func isSeen() -> Bool {
        var call = cll_thread_syscall()
        guard cll_procfs_syscall(process.pid, tid, &call) == Int32(CLL_SYSCALL_BLOCKED), clr_wait_kind(call.number) == 0 else {
            return false
        }
        return state.withLock { state in
            state.object != nil && state.object?.epoll == state.seenEpoll && call.sp < state.readStackPointer
        }
    }

    private func facts(
        limit: UInt64,
        at now: UInt64,
        stretch: UInt64,
        since begin: UInt64,
        isProvisional: Bool = false,
        isYoung: Bool = false,
        isServing: Bool = false,
        isForProof: Bool = false,
        _ sharing: (_ epoll: Int32) -> QuietRule.Sharing,
        _ others: () -> [Other]
    ) -> QuietRule {
        var (rule, object) = state.withLock { state in
            let isServed = state.object == nil && state.servedStretch == stretch
            if isServed { state.object = state.served }
            defer { if isServed { state.object = nil } }
            let work =
                state.object?.work(pidfd: process.descriptor, process: process.pid, tid: tid, signals: &state.signals)
                ?? WaitObject.Work(
                    pending: .unknown,
                    kind: state.isRing ? .loop : state.isRefused ? .unknown : .unseen,
                    obstacle: state.isRing ? .descriptors : state.isRefused ? .refused : .unseen
                )
            // `g_main_dispatch` takes the descriptors of the source that it dispatches out of the loop's wait, puts them back afterwards, and writes to the loop's
            // eventfd each time (`g_main_context_remove_poll_unlocked` of GLib's `gmain.c`), so that a thread that waits meanwhile looks again. Its own thread finds
            // that ready, though no one waits for it. What another thread of the program asks for by the same eventfd looks the same.
            let isWakeUp = work.isWakeUp && state.glib.isLoaded
            let isBetween = work.kind == .gone && state.isMadeAnew
            let pending = isWakeUp || isBetween || mayHideWork(work, &state) ? .unknown : work.pending
            // Of a process that ends the descriptors are closed before its threads are gone: what stalled is not quiet for that.
            let isEnding = work.kind == .gone && cll_thread_is_ending(process.pid, tid) != 0
            let service = work.kind == .loop ? state.service.kind(of: state.object?.epoll, at: now) : nil
            var rule = QuietRule(
                kind: isEnding || isBetween ? .unknown : service ?? work.kind,
                pending: pending,
                doing: doing(
                    limit: limit,
                    in: stretch,
                    isEnding: process.end.mayBeEnd(since: begin, at: now),
                    isYoung: isYoung,
                    isServing: isServing,
                    isForProof: isForProof,
                    at: now,
                    &state
                )
            )
            rule.isMainThread = tid == process.pid
            rule.isYoung = isYoung && state.object.map { $0.epoll == nil && !$0.isRing } == true
            rule.isProvisional = isProvisional && state.object?.epoll == nil
            rule.hasFetched =
                isForProof
                ? state.provedTurns.hasFetched(work.fetched, in: 0, at: now)
                : state.turns.hasFetched(work.fetched, in: stretch, at: now)
            if rule.isLoop, let epoll = state.object?.epoll {
                rule.sharing = self.sharing(of: epoll, sharing, &state, at: now)
            }
            return (rule, state.object)
        }
        // Without the lock: what others wait on is under theirs.
        if rule.kind == .loop, rule.pending == .pending, let object {
            rule.pending = work(at: object, besides: others(), at: now)
            rule.hasClientWork = object.hasClientWork(pidfd: process.descriptor, process: process.pid)
        }
        return rule
    }
}
