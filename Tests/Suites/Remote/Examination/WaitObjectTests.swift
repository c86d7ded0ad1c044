internal import CLagLinux
internal import Foundation
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

@Suite(.serialized) struct WaitObjectTests {
    @Test(arguments: ["level", "edge", "once"]) func `events that are ready are seen and not consumed`(kind: String) throws {
        let probe = try ObjectProbe(kind)
        #expect(probe.look() == WaitObject.Work(pending: .none, kind: .loop))
        #expect(try probe.ask("w") == 1)
        for _ in 0..<100 { #expect(probe.look().pending == .pending) }
        // The program gets what it would have got.
        #expect(try probe.ask("t") == 1)
        #expect(try probe.ask("t") == (kind == "level" ? 1 : 0))
        #expect(probe.look().pending == (kind == "level" ? .pending : .none))
    }

    /// Whether it is ready depends on who asks: asked from here the kernel would drop it, and the program would never hear of its signal.
    @Test func `a signal that waits in a signalfd is not lost`() throws {
        let probe = try ObjectProbe("signalfd")
        #expect(probe.look() == WaitObject.Work(pending: .none, kind: .loop))
        #expect(try probe.ask("s") == 0)
        // What waits for the thread says it.
        for _ in 0..<100 { #expect(probe.look() == WaitObject.Work(pending: .pending, kind: .loop)) }
        #expect(try probe.ask("t") == 1)
    }

    /// The kernel reports a change to the first who asks: the program would not hear of it.
    @Test func `an instance that watches a file of proc is not asked itself`() throws {
        let probe = try ObjectProbe("mounts")
        #expect(probe.look() == WaitObject.Work(pending: .unknown, kind: .loop, obstacle: .descriptors))
        // What else it watches is.
        #expect(try probe.ask("w") == 1)
        #expect(probe.look().pending == .pending)
    }

    /// The probe opens 1100 beside some others, and raises its own limit to the hard one.
    private static let allowsManyDescriptors: Bool = {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 && limit.rlim_max >= 1200
    }()

    /// The kernel would hold its lock for as long as it makes the list.
    @Test(.enabled(if: allowsManyDescriptors, "the machine allows fewer descriptors"))
    func `an instance of very many members is asked and not listed`() throws {
        let probe = try ObjectProbe("many")
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(probe.pid)/fd").count
        try #require(open > 1024)
        #expect(probe.look() == WaitObject.Work(pending: .none, kind: .loop))
        #expect(try probe.ask("w") == 1)
        #expect(probe.look().pending == .pending)
        #expect(!WaitObject(epoll: probe.number).hasWaitingClient(pidfd: probe.handle.descriptor, process: probe.pid))
    }

    @Test func `an instance that the program has closed is gone and nothing keeps it open`() throws {
        let probe = try ObjectProbe("level")
        let before = probe.descriptors
        for _ in 0..<100 { _ = probe.look() }
        #expect(probe.descriptors == before)
        #expect(try probe.ask("c") == 0)
        #expect(probe.look().kind == .gone)
    }

    @Test func `the descriptors of a set are those of the last wait`() throws {
        let probe = try ObjectProbe("level")
        let set = try probe.sleepingObject(in: "p")
        #expect(set.epoll == nil && probe.look(set) == WaitObject.Work(pending: .none, kind: .loop))
        #expect(try probe.answer() == 0)
        #expect(try probe.ask("w") == 1)
        let before = probe.descriptors
        #expect(probe.look(set) == WaitObject.Work(pending: .pending, kind: .loop))
        #expect(probe.descriptors == before)
    }

    @Test func `an eventfd alone is a wake up, which says nothing of a program with GLib`() throws {
        let probe = try ObjectProbe("level")
        let set = try probe.sleepingObject(in: "p")
        #expect(try probe.answer() == 0)
        #expect(try probe.ask("v") == 0)
        #expect(probe.look(set).pending == .pending && probe.look(set).isWakeUp)
        #expect(try probe.ask("w") == 1)
        #expect(probe.look(set).pending == .pending && !probe.look(set).isWakeUp)
    }

    @Test func `a library is found by its file's name`() throws {
        let folder = NSTemporaryDirectory() + "glib-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/libglib-2.0.so.0.7400.6"
        let modules = try #require(ModuleMap(process: getpid()))
        modules.refresh()
        let library = try #require(ProcessImage(modules).modules.first { $0.name.hasPrefix("libc.so") })
        try FileManager.default.copyItem(atPath: library.info.path, toPath: path)
        var before = LibrarySearch(process: getpid(), name: "libglib-2.0.so")
        let wasLoaded = before.isLoaded
        #expect(!wasLoaded)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        let mapped = mmap(nil, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0)
        close(descriptor)
        defer { munmap(mapped, 4096) }
        var after = LibrarySearch(process: getpid(), name: "libglib-2.0.so")
        let isLoaded = after.isLoaded
        let isFoundAgain = (0...64).contains { _ in before.isLoaded }
        #expect(isLoaded && isFoundAgain)
    }

    /// `f`: that of a filter, for its input and for a pipe of its own.
    @Test(arguments: ["o", "f"]) func `a wait for one pipe is no loops`(letter: String) throws {
        let probe = try ObjectProbe("level")
        let one = try probe.sleepingObject(in: letter)
        #expect(probe.look(one).kind == .peer)
        #expect(try probe.answer() == 0)
    }

    @Test func `a wait for input and a child's pipe is a loop's`() throws {
        let probe = try ObjectProbe("level")
        #expect(try probe.look(probe.sleepingObject(in: "u")).kind == .loop)
        #expect(try probe.answer() == 0)
    }

    /// A start's round trip, and at once the loop, further out.
    @Test func `at another place the object is read anew`() throws {
        let probe = try ObjectProbe("level")
        let examiner = probe.makeExaminer()
        func isQuiet(in letter: String, at now: UInt64) throws -> Bool {
            let isResting = try probe.sleeping(in: letter) { call in
                examiner.recordRest(call, at: now)
                return examiner.examine(limit: .max, at: now).isResting
            }
            // A wait for less than what was recorded is none for all of it.
            #expect(isResting == (now != 3))
            #expect(try probe.answer() == 0)
            return examiner.examine(limit: .max, at: now).isQuiet
        }
        #expect(try isQuiet(in: "d", at: 1))
        #expect(try !isQuiet(in: "p", at: 2))
        // At the same place it is not, for a while.
        #expect(try !isQuiet(in: "o", at: 3))
        #expect(try isQuiet(in: "o", at: 1_000_000_000))
    }

    /// The watchdog sees it twice before it sleeps, and not again before it is over.
    @Test func `the object of a rest that goes on is read, however soon after another one`() throws {
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
    @Test func `a ring is asked and taking from it is a turn`() throws {
        let probe = try ObjectProbe("ring")
        guard probe.number >= 0 else { return }
        let examiner = probe.makeExaminer()
        let ring = try probe.sleeping(in: "r") { call in
            examiner.recordRest(call, at: 1)
            return WaitObject(process: probe.pid, of: call)
        }
        // The alarm has ended it.
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
        // What it had taken when a stretch of work began is what it works at.
        #expect(try probe.ask("n") == 1)
        #expect(try probe.ask("h") == 1)
        #expect(examiner.examine(limit: .max, at: 100_000_001, stretch: 1) == LoopExamination(work: .none))
        // For an action the claim that another stretch has begun says nothing: it was not there when the last proof was taken.
        #expect(examiner.proof(limit: .max, at: 100_000_002, stretch: 1) == LoopProof(isLoop: false, isWorkPending: false))
    }

    /// A loop that waits on a stack of its own, as GNU Pth's: what sleeps on the first one may be its handler.
    @Test func `what is further out is known of one stack alone`() throws {
        let probe = try ObjectProbe("level")
        let examiner = probe.makeExaminer()
        examiner.record(epoll: probe.number)
        let isQuiet = try probe.sleeping(in: "o") { call in
            [call.sp - 1, 4096].map { examiner.examine(limit: $0, at: 1).isQuiet }
        }
        #expect(isQuiet == [true, false])
    }

    /// The descriptors of a `poll` on the stack: the thread's calls say where it is, and for an action the stack alone does.
    @Test func `whether a thread above its loop's events is in a handler is asked by its calls`() throws {
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
                return (examination.isQuiet, examiner.proof(limit: call.sp - 1, at: 2).isLoop, asked)
            }
        }
        #expect(try found(true) == (false, false, [events]))
        #expect(try found(false) == (true, false, [events]))
        // What is known of its process says nothing of the stack, but the calls may.
        examiner.record(epoll: probe.number)
        #expect(try found(false) == (true, false, [nil]))
        #expect(try found(true) == (false, false, [nil]))
    }

    /// A lock that processes share: whose turn it is to wait for connections.
    @Test(arguments: ["listener", "level"]) func `who waits its turn among processes with no client connected rests`(kind: String)
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
        // The end of its own thread is no other process's to bring about.
        #expect(try !isQuiet(in: "j"))
        #expect(try probe.ask("a") == 1)
        // That none was connected is believed for a moment.
        #expect(try isQuiet(at: 2))
        #expect(try !isQuiet(at: 200_000_000))
    }

    @Test func `who ends is what a join waits for`() throws {
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

    /// Which instance a thread waits on is written where other processes can write, too.
    @Test func `what was only claimed is not witnessed`() throws {
        let probe = try ObjectProbe("level")
        let examiner = probe.makeExaminer(isClaimed: true)
        examiner.record(epoll: probe.number)
        #expect(try probe.ask("w") == 1)
        #expect(examiner.proof(limit: .max, at: 1) == LoopProof(isLoop: true, isWorkPending: true, isWitnessed: false))
    }

    @Test func `where the kernel refuses it is not known`() throws {
        let probe = try ObjectProbe("level")
        // No process's.
        var signals = WaitObject.SignalMembers()
        let found = probe.object.work(pidfd: -1, process: probe.pid, tid: probe.pid, signals: &signals)
        #expect(found == WaitObject.Work(pending: .unknown, kind: .loop, obstacle: .refused))
    }
}
