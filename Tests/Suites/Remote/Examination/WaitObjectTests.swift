internal import CLagLinux
internal import Foundation
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

@Suite(.serialized) struct WaitObjectTests {
    @Test(arguments: ["level", "edge", "once"]) func `ready events are seen without being consumed`(kind: String) throws {
        let probe = try ObjectProbe(kind)
        #expect(probe.look() == WaitObject.Work(pending: .none, kind: .loop))
        #expect(try probe.ask("w") == 1)
        for _ in 0..<100 { #expect(probe.look().pending == .pending) }
        // The program gets the same events as without the examination.
        #expect(try probe.ask("t") == 1)
        #expect(try probe.ask("t") == (kind == "level" ? 1 : 0))
        #expect(probe.look().pending == (kind == "level" ? .pending : .none))
    }

    /// A signalfd's readiness depends on the process that polls. If this process polled, the kernel would drop the event, and
    /// the program would never receive its signal.
    @Test func `a signal pending in a signalfd is not lost`() throws {
        let probe = try ObjectProbe("signalfd")
        #expect(probe.look() == WaitObject.Work(pending: .none, kind: .loop))
        #expect(try probe.ask("s") == 0)
        // The thread's pending signals show it.
        for _ in 0..<100 { #expect(probe.look() == WaitObject.Work(pending: .pending, kind: .loop)) }
        #expect(try probe.ask("t") == 1)
    }

    /// A pipe that is reported once for each event, beside a signalfd: the instance itself cannot be polled.
    @Test func `an event that is reported once is pending if it came during the same work`() throws {
        let probe = try ObjectProbe("signalfd-edge")
        let examiner = probe.makeExaminer()
        examiner.record(epoll: probe.number)
        func work(_ stretch: UInt64) -> PendingWork { examiner.examine(limit: .max, at: 1, stretch: stretch).work }
        #expect(work(6) == .none)
        #expect(try probe.ask("w") == 1)
        #expect(work(6) == .pending && work(6) == .pending)
        // No proof for an action.
        #expect(examiner.proof(limit: .max, at: 1, stretch: 6)?.isWorkPending == false)
        // Another thread may have fetched it.
        #expect(examiner.examine(limit: .max, at: 1, stretch: 6, sharing: { _ in .lately }).work == .unknown)
        // It may have been reported before.
        #expect(work(8) == .unknown && work(0) == .unknown)
        #expect(try probe.ask("t") == 1)
        #expect(work(10) == .unknown)
    }

    /// The kernel reports a change to the first process that polls: the program would not receive it.
    @Test func `an instance that watches a file in proc is not polled itself`() throws {
        let probe = try ObjectProbe("mounts")
        #expect(probe.look() == WaitObject.Work(pending: .unknown, kind: .loop, obstacle: .descriptors))
        // Its other members are polled.
        #expect(try probe.ask("w") == 1)
        #expect(probe.look().pending == .pending)
    }

    /// The probe opens 1100 descriptors beside some others, and raises its own limit to the hard limit.
    private static let allowsManyDescriptors: Bool = {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 && limit.rlim_max >= 1200
    }()

    /// The kernel would hold the instance's lock while it creates the list.
    @Test(.enabled(if: allowsManyDescriptors, "the machine allows fewer descriptors"))
    func `an instance with very many members is polled but not listed`() throws {
        let probe = try ObjectProbe("many")
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(probe.pid)/fd").count
        try #require(open > 1024)
        #expect(probe.look() == WaitObject.Work(pending: .none, kind: .loop))
        #expect(try probe.ask("w") == 1)
        #expect(probe.look().pending == .pending)
        #expect(!WaitObject(epoll: probe.number).hasWaitingClient(pidfd: probe.handle.descriptor, process: probe.pid))
    }

    @Test func `a closed instance is reported as gone, and examinations do not keep it open`() throws {
        let probe = try ObjectProbe("level")
        let before = probe.descriptors
        for _ in 0..<100 { _ = probe.look() }
        #expect(!before.isEmpty && probe.descriptors.isSubset(of: before))
        #expect(try probe.ask("c") == 0)
        #expect(probe.look().kind == .gone)
    }

    @Test func `the descriptors of a poll set are those of its last wait`() throws {
        let probe = try ObjectProbe("level")
        let set = try probe.sleepingObject(in: "p")
        #expect(set.epoll == nil && probe.look(set) == WaitObject.Work(pending: .none, kind: .loop))
        #expect(try probe.answer() == 0)
        #expect(try probe.ask("w") == 1)
        let before = probe.descriptors
        #expect(probe.look(set) == WaitObject.Work(pending: .pending, kind: .loop))
        #expect(!before.isEmpty && probe.descriptors.isSubset(of: before))
    }

    @Test func `a ready eventfd alone counts only as a wakeup, as with GLib`() throws {
        let probe = try ObjectProbe("level")
        let set = try probe.sleepingObject(in: "p")
        #expect(try probe.answer() == 0)
        #expect(try probe.ask("v") == 0)
        #expect(probe.look(set).pending == .pending && probe.look(set).isWakeUp)
        #expect(try probe.ask("w") == 1)
        #expect(probe.look(set).pending == .pending && !probe.look(set).isWakeUp)
    }

    /// `f`: the wait of a filter for its input and for its own pipe.
    @Test(arguments: ["o", "f"]) func `a wait for one pipe is not the wait of a loop`(letter: String) throws {
        let probe = try ObjectProbe("level")
        let one = try probe.sleepingObject(in: letter)
        #expect(probe.look(one).kind == .peer)
        #expect(try probe.answer() == 0)
    }

    @Test func `a wait for standard input and the pipe of a child is the wait of a loop`() throws {
        let probe = try ObjectProbe("level")
        #expect(try probe.look(probe.sleepingObject(in: "u")).kind == .loop)
        #expect(try probe.answer() == 0)
    }

    /// A round trip during startup, followed at once by the loop, further out in the stack.
    @Test func `the object is read again when the thread waits at another location`() throws {
        let probe = try ObjectProbe("level")
        let examiner = probe.makeExaminer()
        func isQuiet(in letter: String, at now: UInt64) throws -> Bool {
            let isResting = try probe.sleeping(in: letter) { call in
                examiner.recordRest(call, at: now)
                return examiner.examine(limit: .max, at: now).isResting
            }
            // A wait for fewer objects than recorded is not a wait for all of them.
            #expect(isResting == (now != 3))
            #expect(try probe.answer() == 0)
            return examiner.examine(limit: .max, at: now).isQuiet
        }
        #expect(try isQuiet(in: "d", at: 1))
        #expect(try !isQuiet(in: "p", at: 2))
        // At the same location it is not read again for a while.
        #expect(try !isQuiet(in: "o", at: 3))
        #expect(try isQuiet(in: "o", at: 1_000_000_000))
    }

    /// The watchdog sees the wait twice before it sleeps itself, and not again before the wait has ended.
    @Test func `the object of a continuing wait is read even shortly after the previous wait`() throws {
        let probe = try ObjectProbe("level")
        let examiner = probe.makeExaminer()
        _ = try probe.sleeping(in: "p") { call in
            examiner.recordRest(word: 1, at: 1)
            return call
        }
        #expect(try probe.answer() == 0)
        let isResting = try probe.sleeping(in: "o") { _ in
            (1...2).map { visit in
                examiner.recordRest(word: 3, at: UInt64(visit) + 1)
                return examiner.examine(limit: .max, at: 3).isResting
            }
        }
        #expect(isResting == [false, true])
        #expect(try probe.answer() == 0)
    }

    /// At full load a program takes completions without a call.
    @Test func `an io-uring is polled, and taking a completion is an iteration`() throws {
        let probe = try ObjectProbe("ring")
        guard probe.number >= 0 else { return }
        let examiner = probe.makeExaminer()
        let ring = try probe.sleeping(in: "r") { call in
            examiner.recordRest(call, at: 1)
            return WaitObject(process: probe.pid, of: call)
        }
        // The alarm ended the wait.
        #expect(try probe.answer() == 1)
        #expect(probe.look(ring) == WaitObject.Work(pending: .none, kind: .loop, fetched: 0))
        #expect(examiner.examine(limit: .max, at: 2) == LoopExamination(work: .none))
        #expect(try probe.ask("n") == 1)
        #expect(probe.look(ring).pending == .pending)
        #expect(examiner.examine(limit: .max, at: 3) == LoopExamination(work: .pending))
        #expect(examiner.proof(limit: .max, at: 3) == LoopProof(isLoop: true, isWorkPending: true))
        #expect(try probe.ask("h") == 1)
        #expect(examiner.examine(limit: .max, at: 4) == LoopExamination(isQuiet: true, work: .none))
        #expect(examiner.examine(limit: .max, at: 100_000_000) == LoopExamination(work: .none))
        // It works at the completions that it took when a stretch of work began.
        #expect(try probe.ask("n") == 1)
        #expect(try probe.ask("h") == 1)
        #expect(examiner.examine(limit: .max, at: 100_000_001, stretch: 1) == LoopExamination(work: .none))
        // For an action, the claim that another stretch began proves nothing: it did not exist at the last proof.
        #expect(examiner.proof(limit: .max, at: 100_000_002, stretch: 1) == LoopProof(isLoop: false, isWorkPending: false))
    }

    /// A loop that waits on its own stack, as with GNU Pth: a sleep on the first stack may be in its handler.
    @Test func `stack depths are compared only within one stack`() throws {
        let probe = try ObjectProbe("level")
        let examiner = probe.makeExaminer()
        examiner.record(epoll: probe.number)
        let isQuiet = try probe.sleeping(in: "o") { call in
            [call.sp - 1, 4096].map { examiner.examine(limit: $0, at: 1).isQuiet }
        }
        #expect(isQuiet == [true, false])
    }

    /// The descriptors of `poll` are on the stack: the thread's calls show where it is. For an action only the stack counts.
    @Test func `the call chain decides whether a thread above the events of its loop is in a handler`() throws {
        let probe = try ObjectProbe("level")
        let examiner = probe.makeExaminer()
        let events = try probe.sleeping(in: "p") { call in
            examiner.recordRest(call, at: 1)
            return call.arguments.0
        }
        #expect(try probe.answer() == 0)
        func found(_ isHandler: Bool) throws -> (isQuiet: Bool, isLoop: Bool, asked: [UInt64?]) {
            defer { _ = try? probe.answer() }
            return try probe.sleeping(in: "o") { call in
                var asked: [UInt64?] = []
                let examination = examiner.examine(limit: call.sp - 1, at: 2) {
                    asked.append($0)
                    return isHandler
                }
                return (examination.isQuiet, examiner.proof(limit: call.sp - 1, at: 2)?.isLoop == true, asked)
            }
        }
        #expect(try found(true) == (false, false, [events]))
        #expect(try found(false) == (true, false, [events]))
        // What is known about its process does not show the stack depth, but the calls may.
        examiner.record(epoll: probe.number)
        #expect(try found(false) == (true, false, [nil]))
        #expect(try found(true) == (false, false, [nil]))
    }

    /// A lock shared by processes, whose holder waits for connections.
    @Test(arguments: ["listener", "level"])
    func `a process that waits for its turn to accept is quiet while no client is connected`(
        kind: String
    )
        throws
    {
        let probe = try ObjectProbe(kind)
        let examiner = probe.makeExaminer()
        examiner.record(epoll: probe.number)
        func isQuiet(in letter: String = "m", at now: UInt64 = 1) throws -> Bool {
            probe.begin(letter)
            defer { _ = try? probe.answer() }
            let calls = letter == "m" ? [Int64(SYS_semop), Int64(SYS_semtimedop)] : [Int64(cll_syscall_futex)]
            #expect(
                eventually {
                    var call = cll_thread_syscall()
                    return cll_procfs_syscall(probe.pid, probe.pid, &call) == Int32(CLL_SYSCALL_BLOCKED)
                        && calls.contains(call.number)
                }
            )
            return examiner.examine(limit: .max, at: now).isQuiet
        }
        #expect(try isQuiet() == (kind == "listener"))
        guard kind == "listener" else { return }
        // No other process can end its own thread.
        #expect(try !isQuiet(in: "j"))
        #expect(try probe.ask("a") == 1)
        // The finding that no client is connected is cached for a moment.
        #expect(try isQuiet(at: 2))
        #expect(try !isQuiet(at: 200_000_000))
    }

    @Test func `the owner of a join is the thread that it waits for`() throws {
        let probe = try ObjectProbe("level")
        probe.begin("j")
        var lock = cll_lock()
        let isFound = eventually {
            var call = cll_thread_syscall()
            guard cll_procfs_syscall(probe.pid, probe.pid, &call) == Int32(CLL_SYSCALL_BLOCKED) else { return false }
            cll_lock_find(probe.pid, probe.pid, &call, &lock)
            return lock.kind == Int32(CLL_LOCK_THREAD)
        }
        #expect(isFound && lock.owner != probe.pid && cll_thread_is_live(probe.pid, lock.owner) != 0)
        #expect(try probe.answer() == 0)
    }

    /// The instance on which a thread waits is written in memory that other processes can write, too.
    @Test func `a claimed epoll instance is not witnessed`() throws {
        let probe = try ObjectProbe("level")
        let examiner = probe.makeExaminer(isClaimed: true)
        examiner.record(epoll: probe.number)
        #expect(try probe.ask("w") == 1)
        #expect(examiner.proof(limit: .max, at: 1) == LoopProof(isLoop: true, isWorkPending: true, isWitnessed: false))
    }

    @Test func `pending work is unknown if the kernel refuses access`() throws {
        let probe = try ObjectProbe("level")
        // No process.
        var signals = WaitObject.SignalMembers()
        let found = probe.object.work(pidfd: -1, process: probe.pid, tid: probe.pid, signals: &signals)
        #expect(found == WaitObject.Work(pending: .unknown, kind: .loop, obstacle: .refused))
    }
}
