internal import CLagLinux
internal import CLagRemote
package import LagActivity
internal import Synchronization

/// Finds out of one loop's thread whether work waits for it while it is elsewhere: the same for loops that the preloaded library publishes and for
/// those that are sampled.
///
/// Any thread; the watchdog's asks most. The lock is held for as long as an examination takes, some 10 µs.
package final class LoopExaminer: Sendable {
    private struct State {
        var object: WaitObject?
        /// The kernel does not say what the thread does: then a loop is what its process says to be one.
        var isRefused = false
        /// It waits on a ring of io_uring, which is a loop's, and cannot be asked.
        var isRing = false
        /// When it was read, and of a wait at which stack pointer.
        var readNanoseconds: UInt64 = 0
        var readStackPointer: UInt64 = 0
        var otherWaiter: (found: Bool, nanoseconds: UInt64) = (false, 0)
        /// Whether the process is there for one connection, of which epoll instance, and when that was found.
        var servesOnePeer: (found: Bool, epoll: Int32, nanoseconds: UInt64) = (false, -1, 0)
    }

    private let process: ProcessHandle
    private let tid: Int32
    /// A thread that its user, or its own program, says to be a loop: what it blocks in is a stall.
    private let isDeclared: Bool
    private let state = Mutex(State())

    /// The descriptors of a set may change with each wait.
    private static let readAgainNanoseconds: UInt64 = 100_000_000
    /// Searching the threads of a process takes 5 µs for each of them. That none waits is asked more often: between two of them there is a moment
    /// in which none does.
    private static let searchNanoseconds: UInt64 = 500_000_000
    private static let searchAgainNanoseconds: UInt64 = 40_000_000
    /// A server gets and loses connections; to find out takes 3 µs a descriptor.
    private static let serviceNanoseconds: UInt64 = 1_000_000_000

    init(_ process: ProcessHandle, tid: Int32, isDeclared: Bool) {
        self.process = process
        self.tid = tid
        self.isDeclared = isDeclared
    }

    /// The thread rests at its loop's place.
    /// - Parameters:
    ///   - call: where it sleeps; nil: to be read, if it is time.
    ///   - isStillThere: whether it has not left the loop's place meanwhile: what a handler waits on is not the loop's.
    func recordRest(_ call: cll_thread_syscall? = nil, at now: UInt64, isStillThere: () -> Bool = { true }) {
        state.withLock { state in
            // At another place it may be another object's, as after a start. (An epoll instance is the same from wherever it is waited on.)
            let isElsewhere = state.object?.epoll == nil && call.map { $0.sp != state.readStackPointer } ?? false
            guard isElsewhere || state.object == nil || now >= state.readNanoseconds &+ Self.readAgainNanoseconds else { return }
            var found = cll_thread_syscall()
            if let call {
                found = call
            } else {
                let result = cll_procfs_syscall(process.pid, tid, &found)
                state.isRefused = result < 0
                guard result == Int32(CLL_SYSCALL_BLOCKED) else { return }
            }
            let object = WaitObject(process: process.pid, of: found)
            guard isAsleep(in: found), isStillThere() else { return }
            guard let object else {
                state.isRing = clr_wait_kind(found.number) != 0
                return
            }
            state.object = object
            state.readNanoseconds = now
            state.readStackPointer = found.sp
        }
    }

    /// Whether the thread still sleeps in a call that was found before: what its arguments point to was what the kernel uses.
    private func isAsleep(in call: cll_thread_syscall) -> Bool {
        var now = cll_thread_syscall()
        return cll_procfs_syscall(process.pid, tid, &now) == Int32(CLL_SYSCALL_BLOCKED) && now.number == call.number
            && now.sp == call.sp
            && now.pc == call.pc && now.arguments.0 == call.arguments.0 && now.arguments.1 == call.arguments.1
    }

    /// What the loop waits on, where its process says so.
    func record(epoll: Int32) { state.withLock { if $0.object?.epoll != epoll { $0.object = WaitObject(epoll: epoll) } } }

    /// - Parameters:
    ///   - limit: a thread that sleeps at a stack pointer above this has left the function that waits for the loop.
    ///   - isProvisional: it may run no loop. (Of an epoll instance its process knows that it is the same one.)
    func examine(limit: UInt64, at now: UInt64, isProvisional: Bool = false) -> LoopExamination {
        let facts = facts(limit: limit, at: now, isProvisional: isProvisional)
        return LoopExamination(isQuiet: !isDeclared && facts.isQuiet, work: facts.pending)
    }

    /// What an action needs.
    func proof(limit: UInt64, at now: UInt64) -> LoopProof {
        let facts = facts(limit: limit, at: now)
        // A program that says itself that it is at work there, and of which the kernel says no more, is taken at its word.
        let isWorkPending = facts.pending == .pending || (isDeclared && facts.pending == .unknown)
        return LoopProof(isLoop: isDeclared || facts.isProved, isWorkPending: isWorkPending)
    }

    private func facts(limit: UInt64, at now: UInt64, isProvisional: Bool = false) -> QuietRule {
        state.withLock { state in
            let work =
                state.object?.work(pidfd: process.descriptor, process: process.pid, tid: tid)
                ?? WaitObject.Work(
                    pending: .unknown,
                    kind: state.isRing ? .loop : state.isRefused ? .unknown : .unseen,
                    obstacle: state.isRing ? .descriptors : state.isRefused ? .refused : .unseen
                )
            // Of a process that ends the descriptors are closed before its threads are gone: what stalled is not quiet for that.
            let isEnding = work.kind == .gone && cll_thread_is_ending(process.pid, tid) != 0
            let isServed = work.kind == .loop && servesOnePeer(&state, at: now)
            var rule = QuietRule(
                kind: isEnding ? .unknown : isServed ? .peer : work.kind,
                pending: work.pending,
                doing: doing(limit: limit)
            )
            rule.isProvisional = isProvisional && state.object?.epoll == nil
            if rule.isLoop, let epoll = state.object?.epoll { rule.hasOtherWaiter = hasOtherWaiter(epoll, &state, at: now) }
            return rule
        }
    }

    private func servesOnePeer(_ state: inout State, at now: UInt64) -> Bool {
        guard let epoll = state.object?.epoll else { return false }
        if epoll != state.servesOnePeer.epoll || now >= state.servesOnePeer.nanoseconds &+ Self.serviceNanoseconds {
            state.servesOnePeer = (clr_serves_one_peer(process.descriptor, process.pid, epoll) != 0, epoll, now)
        }
        return state.servesOnePeer.found
    }

    private func doing(limit: UInt64) -> QuietRule.Doing {
        var call = cll_thread_syscall()
        guard cll_procfs_syscall(process.pid, tid, &call) == Int32(CLL_SYSCALL_BLOCKED), call.number >= 0 else { return .working }
        return switch Int(clr_call_use(process.pid, &call)) {
        case CLR_CALL_RESTS: .waiting(isFurtherOut: call.sp > limit)
        case CLR_CALL_SLEEPS: .sleeping
        default: .working
        }
    }

    private func hasOtherWaiter(_ epoll: Int32, _ state: inout State, at now: UInt64) -> Bool {
        let gap = state.otherWaiter.found ? Self.searchNanoseconds : Self.searchAgainNanoseconds
        guard now >= state.otherWaiter.nanoseconds &+ gap else { return state.otherWaiter.found }
        state.otherWaiter = (clr_epoll_has_other_waiter(process.pid, tid, epoll) != 0, now)
        return state.otherWaiter.found
    }
}

/// What is proved of a loop at one moment: on nothing less anything is done to its process.
package struct LoopProof: Sendable, Equatable {
    /// Its thread waits for events on an object that event loops wait on, and no other thread does.
    package var isLoop: Bool
    /// Events are ready there that it does not fetch.
    package var isWorkPending: Bool

    package init(isLoop: Bool, isWorkPending: Bool) {
        self.isLoop = isLoop
        self.isWorkPending = isWorkPending
    }
}

/// A loop of another process.
package protocol ForeignLoop: ExaminableLoop {
    /// Some 10 µs. Any thread.
    func proof(at now: UInt64) -> LoopProof
}
