internal import CLagLinux
internal import CLagRemote
internal import Foundation
internal import LagActivity
internal import LagModel
internal import Synchronization
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// What the calls of threads show, also of those that are not searched.
@Suite(.serialized) struct ThreadUseTests {
    /// Numbers that are the same on every architecture, and newer than some systems' headers.
    private static let (futexWaitVector, futexWait): (Int64, Int64) = (449, 455)

    private static func call(_ number: Int64, _ arguments: UInt64...) -> cll_thread_syscall {
        var call = cll_thread_syscall()
        call.number = number
        withUnsafeMutableBytes(of: &call.arguments) { bytes in
            for (index, argument) in arguments.enumerated() {
                bytes.storeBytes(of: argument, toByteOffset: 8 * index, as: UInt64.self)
            }
        }
        return call
    }

    @Test func `newer calls that wait for a lock or for an event are rests`() {
        for number in [Self.futexWaitVector, Self.futexWait, Int64(SYS_io_pgetevents)] {
            var call = Self.call(number)
            #expect(Int(clr_call_use(getpid(), &call)) == CLR_CALL_RESTS, "\(number)")
            #expect((clr_awaits_own(&call) != 0) == (number != Int64(SYS_io_pgetevents)), "\(number)")
        }
    }

    @Test func `a newer futex call shows whether processes share the lock`() {
        let isPrivate: UInt64 = 128
        var (shared, own) = (Self.call(Self.futexWait, 0, 0, 0, 2), Self.call(Self.futexWait, 0, 0, 0, 2 | isPrivate))
        #expect(clr_waits_among_processes(getpid(), &shared) != 0 && clr_waits_among_processes(getpid(), &own) == 0)
        // Value, address, flags.
        for (flags, expected) in [(UInt64(2), true), (2 | isPrivate, false)] {
            let vector: [UInt64] = [0, 0, flags]
            vector.withUnsafeBytes { bytes in
                var call = Self.call(Self.futexWaitVector, UInt64(UInt(bitPattern: bytes.baseAddress)), 1)
                #expect((clr_waits_among_processes(getpid(), &call) != 0) == expected)
            }
        }
    }

    /// The kernel restarts a sleep after a stop by another call.
    @Test func `a sleep remains one after a stop of its process`() throws {
        let process = try SleepingProcess()
        defer { process.end() }
        let pid = process.pid
        func current(_ number: ClosedRange<Int64>) -> cll_thread_syscall? {
            var call = cll_thread_syscall()
            let isFound = eventually {
                cll_procfs_syscall(pid, pid, &call) == Int32(CLL_SYSCALL_BLOCKED) && number.contains(call.number)
            }
            return isFound ? call : nil
        }
        let sleep = Int64(SYS_clock_nanosleep)
        let examiner = LoopExaminer(ProcessHandle(pid), tid: pid, isDeclared: false)
        examiner.record(epoll: 99)
        examiner.recordCall(try #require(current(sleep...sleep)))
        kill(pid, SIGSTOP)
        #expect(eventually { ProcFile.text(at: "/proc/\(pid)/stat", limit: 256)?.contains(") T ") == true })
        kill(pid, SIGCONT)
        let restart = Int64(SYS_restart_syscall)
        #expect(try #require(current(restart...restart)).number == restart)
        let doing = examiner.state.withLock { state in
            examiner.readCall(
                limit: 0,
                in: 0,
                isEnding: false,
                isYoung: false,
                isServing: false,
                isForProof: false,
                mayHaveClient: false,
                at: 1,
                &state
            ).withoutClient
        }
        #expect(doing == .sleeping)
        // What was not seen before may be any call.
        var (other, before) = (Self.call(restart, 1), Self.call(sleep, 2))
        clr_restarted(&other, &before)
        #expect(other.number == restart)
    }

    @Test func `what was found for one object does not apply to another`() {
        let examiner = LoopExaminer(ProcessHandle(getpid()), tid: getpid(), isDeclared: false)
        let set = WaitObject()
        #expect(set.epoll == nil)
        examiner.record(epoll: 99)
        examiner.state.withLock { state in
            (state.acceptor, state.sharedNanoseconds) = ((true, 1), 1)
            LoopExaminer.setObject(WaitObject(epoll: 99), of: &state)
            #expect(state.acceptor?.found == true && state.sharedNanoseconds == 1)
            LoopExaminer.setObject(set, of: &state)
            #expect(state.acceptor == nil && state.sharedNanoseconds == nil)
            state.acceptor = (true, 1)
        }
        // The loop may wait for another set by then.
        #expect(examiner.hasOtherAcceptor(of: set, at: 60_000_000_000) == true)
        #expect(examiner.hasOtherAcceptor(of: set, at: 60_000_000_001) != true)
    }

    // MARK: Threads that are not searched

    /// More threads than are searched for a proof.
    private static func withManyThreads(_ body: () throws -> Void) rethrows {
        let (started, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let count = 260
        for _ in 0..<count {
            let thread = Thread {
                started.signal()
                end.wait()
            }
            thread.stackSize = 65536
            thread.start()
        }
        for _ in 0..<count { started.wait() }
        defer { for _ in 0..<count { end.signal() } }
        try body()
    }

    private static func withInstance(_ body: (Int32) throws -> Void) rethrows {
        let epoll = cll_poller_create()
        defer { close(epoll) }
        try body(epoll)
    }

    @Test func `among too many threads it is unknown whether another one waits on an instance`() {
        Self.withInstance { epoll in
            #expect(clr_epoll_has_other_waiter(getpid(), cll_gettid(), epoll, 100_000) == 0)
            #expect(clr_epoll_has_other_waiter(getpid(), cll_gettid(), epoll, 1) == -1)
        }
    }

    @Test func `in a process with more threads than are searched, nothing is proved from outside`() {
        Self.withInstance { epoll in
            func proof(isClaimed: Bool) -> LoopProof? {
                let examiner = LoopExaminer(ProcessHandle(getpid()), tid: cll_gettid(), isDeclared: false, isClaimed: isClaimed)
                examiner.record(epoll: epoll)
                // An examination, which searches fewer threads, must not decide for it.
                _ = examiner.examine(limit: .max, at: 1_000_000_000)
                return examiner.proof(limit: .max, at: 1_000_000_001)
            }
            Self.withManyThreads {
                #expect(proof(isClaimed: false) == nil)
                // Its process publishes which of its threads fetch.
                #expect(proof(isClaimed: true)?.isLoop == true)
            }
        }
    }

    @Test func `waiting clients are work of a loop that its process publishes, however many threads that has`() {
        let listener = SharedListenerTests.listen()
        let client = SharedListenerTests.connect(to: listener)
        defer { for descriptor in [listener, client] { close(descriptor) } }
        Self.withInstance { epoll in
            #expect(cll_poller_watch(epoll, listener, UInt32(CLL_POLL_READABLE), 0) == 0)
            Self.withManyThreads {
                let examiner = LoopExaminer(ProcessHandle(getpid()), tid: cll_gettid(), isDeclared: false, isClaimed: true)
                let proof = examiner.proof(limit: .max, epoll: epoll, at: 1_000_000_000)
                #expect(proof?.isLoop == true && proof?.isWorkPending == true)
            }
        }
    }

    @Test func `what was found about the threads of one instance does not apply to another one`() {
        Self.withInstance { first in
            Self.withInstance { second in
                let examiner = LoopExaminer(ProcessHandle(getpid()), tid: cll_gettid(), isDeclared: false)
                examiner.record(epoll: first)
                func isKnown() -> Bool { examiner.state.withLock { $0.sharedNanoseconds != nil || $0.acceptor != nil } }
                examiner.state.withLock { state in
                    state.sharedNanoseconds = 1
                    state.acceptor = (true, 1)
                }
                examiner.record(epoll: first)
                #expect(isKnown())
                examiner.record(epoll: second)
                #expect(!isKnown())
            }
        }
    }

    @Test func `clients that another thread of the process accepts are not work of the loop`() throws {
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var ends: [Int32] = [0, 0]
        try #require(listener >= 0 && pipe(&ends) == 0)
        defer { for descriptor in ends + [listener] { close(descriptor) } }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sa_family_t>.size)) == 0
            }
        }
        try #require(isBound && listen(listener, 8) == 0)
        let object = try SharedListenerTests.wait(for: [listener, ends[0]]).object
        func hasAcceptor() -> Bool? { object.hasOtherAcceptor(process: getpid(), tid: cll_gettid(), most: 100_000) }
        #expect(hasAcceptor() == false)
        #expect(object.hasOtherAcceptor(process: getpid(), tid: cll_gettid(), most: 1) == nil)
        var patience = timeval(tv_sec: 0, tv_usec: 500_000)
        setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let found = try SharedListenerTests.wait(in: { _ = accept(listener, nil, nil) }, { _, _ in hasAcceptor() })
        #expect(found)
    }

    @Test func `it is unknown whether another thread accepts the clients of an instance with too many members`() throws {
        let (listener, other) = (SharedListenerTests.listen(), SharedListenerTests.listen())
        defer { for descriptor in [listener, other] { close(descriptor) } }
        var patience = timeval(tv_sec: 0, tv_usec: 500_000)
        setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        try Self.withInstance { epoll in
            let members = (0..<260).map { _ in dup(other) }
            defer { for member in members { close(member) } }
            func add(_ descriptor: Int32) { #expect(cll_poller_watch(epoll, descriptor, UInt32(CLL_POLL_READABLE), 0) == 0) }
            let object = WaitObject(epoll: epoll)
            func hasAcceptor() -> Bool? { object.hasOtherAcceptor(process: getpid(), tid: cll_gettid(), most: 100_000) }
            func inAccept() throws -> (hasAcceptor: Bool?, hasOnlyClients: Bool?) {
                let pidfd = clr_pidfd_open(getpid())
                defer { close(pidfd) }
                return try SharedListenerTests.wait(in: { _ = accept(listener, nil, nil) }) { call, _ in
                    // Its first call may be another one.
                    guard call.number == Int64(SYS_accept) || call.number == Int64(SYS_accept4) else { return nil }
                    return (hasAcceptor(), object.hasOnlyClients(pidfd: pidfd, process: getpid()))
                }
            }
            for member in members[..<8] { add(member) }
            #expect(hasAcceptor() == false)
            let few = try inAccept()
            #expect(few.hasAcceptor == false && few.hasOnlyClients == false)
            for member in members[8...] { add(member) }
            #expect(hasAcceptor() == false)
            let many = try inAccept()
            #expect(many.hasAcceptor == nil && many.hasOnlyClients == nil)
        }
    }
}
