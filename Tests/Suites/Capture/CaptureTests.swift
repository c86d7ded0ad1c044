import CLagLinux
import Glibc
import Testing

/// Real threads in known stalls, each in its own process.
@Suite struct CaptureTests {
    /// Whether the kernel lets a process sample itself. The deadline has passed, so a permitted call times out.
    private static let canSample: Bool = {
        var (nowhere, place) = (cll_snapshot(), Int32(0))
        return cll_perf_sample(cll_gettid(), 0, 0, &nowhere, 0, &place) == ETIMEDOUT
    }()

    /// A sleeping thread is read without disturbing it, from the leaf to the thread's first frame.
    @Test(
        arguments: [
            ("sleep", "sleepUndisturbed"), ("read", "readUndisturbed"), ("poll", "pollUndisturbed"),
            ("lock", "lockUndisturbed"), ("semaphore", "waitUndisturbed"), ("child", "waitForChild"),
            ("vfork", "waitInVfork"), ("blocked-signals-sleeping", "sleepUndisturbed"),
            ("stack-end-sleeping", "sleepUndisturbed"),
        ]
    )
    func `a sleeping thread is captured passively with a complete stack`(scenario: String, function: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.status == 0)
        #expect(run["method"] == "passive")
        #expect(run["failure"] == "-")
        #expect(run["end"] == "complete")
        #expect(run["undisturbed"] == "yes", "the thread's wait was interrupted or failed")
        #expect(run.index(of: function) != nil, "\(run.frames)")
        #expect(try #require(run.index(of: function)) <= 4, "the stalling function is near the leaf: \(run.frames)")
        if scenario != "stack-end-sleeping" { #expect(run.frames.last?.hasPrefix("clone") == true, "\(run.frames)") }
    }

    @Test func `frames without frame pointers between Swift frames are unwound`() throws {
        let run = try ProbeRun("frameless")
        #expect(run["end"] == "complete")
        #expect(run["undisturbed"] == "yes")
        let inner = try #require(run.index(of: "sleepUndisturbed"))
        let middle = try #require(run.index(of: "fixture_frameless_call"))
        let outer = try #require(run.index(of: "StalledThread.init"))
        #expect(inner < middle && middle < outer)
        #expect(run.frames.last?.hasPrefix("clone") == true)
    }

    /// A skipped frame could be the culprit. Skipping frames can look plausible, because the outer frames fit together better.
    @Test func `no frame is lost in optimised code where one function lacks a frame pointer`() throws {
        let run = try ProbeRun("scheduled-prologue")
        #expect(run["end"] == "complete" && run["method"] == "passive")
        let sleep = try #require(run.index(of: "fixture_scheduled_sleep"))
        #expect(run.index(of: "fixture_scheduled_middle") == sleep + 1, "\(run.frames)")
        #expect(run.index(of: "fixture_scheduled_outer") == sleep + 2, "\(run.frames)")
        #expect(
            run.index(of: "fixture_sleep_in_scheduled_code") != nil && run.frames.last?.hasPrefix("clone") == true,
            "\(run.frames)"
        )
    }

    @Test func `a stale return address in a frame that grew is not reported as a caller`() throws {
        let run = try ProbeRun("grown-frame")
        #expect(run["end"] == "complete" && run["method"] == "passive")
        #expect(run.index(of: "fixture_present_caller") != nil, "\(run.frames)")
        #expect(run.index(of: "fixture_earlier_caller") == nil, "\(run.frames)")
    }

    @Test func `the caller of code without unwind information is found`() throws {
        let run = try ProbeRun("timed-semaphore")
        #expect(run["end"] == "complete" && run["method"] == "passive")
        #expect(run["undisturbed"] == "yes")
        #expect(run.index(of: "waitAtMost") != nil, "\(run.frames)")
        #expect(run.index(of: "StalledThread.init") != nil, "\(run.frames)")
        #expect(run.frames.last?.hasPrefix("clone") == true, "\(run.frames)")
    }

    #if arch(x86_64)
        /// No unwind tables cover this code: its frames are found by frame records, those of its caller by unwind tables again.
        @Test(arguments: [("generated-running", "signal"), ("generated-sleeping", "passive"), ("generated-later", "passive")])
        func `run-time generated code is unwound to its caller`(scenario: String, method: String) throws {
            let run = try ProbeRun(scenario)
            #expect(run["method"] == method && run["end"] == "complete", "\(run.lines)")
            #expect(run["recovered"] == "yes" && run["undisturbed"] == "yes", "\(run.lines)")
            let inner = try #require(run.frames.firstIndex(of: "?"), "\(run.frames)")
            #expect(
                scenario == "generated-running" ? inner == 0 : inner > (run.index(of: "sleepUndisturbed") ?? .max),
                "\(run.frames)"
            )
            let count = scenario == "generated-later" ? 4 : 2
            #expect(run.frames.filter { $0 == "?" }.count == count && run.frames[inner + 1] == "?", "\(run.frames)")
            #expect(run.index(of: "fixture_call_without_frame_pointer") == inner + count, "\(run.frames)")
            #expect(run.frames.last?.hasPrefix("clone") == true, "\(run.frames)")
        }

        /// Its last instructions show where the return address is; a call instruction before that address confirms it.
        @Test(arguments: ["leaf", "pushing", "moving", "aligning", "keeping", "at-run-time"])
        func `handwritten assembly is unwound by the instructions before its return`(kind: String) throws {
            let run = try ProbeRun("handwritten-\(kind)")
            #expect(run["method"] == "signal" && run["end"] == "complete", "\(run.lines)")
            #expect(run.frames.first == (kind == "at-run-time" ? "?" : "fixture_handwritten_\(kind)"), "\(run.frames)")
            #expect(run.index(of: "fixture_call_handwritten") == 1, "\(run.frames)")
            #expect(run.frames.last?.hasPrefix("clone") == true, "\(run.frames)")
        }

        /// The frame pointer of a sleeping thread is not known.
        @Test func `handwritten assembly that sleeps is unwound by the call instruction of its caller`() throws {
            let run = try ProbeRun("handwritten-read")
            #expect(run["method"] == "passive" && run["end"] == "complete", "\(run.lines)")
            #expect(run.frames.first == "fixture_handwritten_read" && run.index(of: "fixture_read_by_hand") == 1, "\(run.frames)")
        }

        /// Also if the caller called another function that continues in the handwritten one.
        @Test(arguments: [("called", "directly"), ("chosen", "choice"), ("behind-stub", "stub")])
        func `handwritten assembly that overwrites the frame pointer is unwound`(kind: String, caller: String) throws {
            let run = try ProbeRun("handwritten-\(kind)")
            #expect(run["end"] == "complete" && run.frames.first == "fixture_handwritten_pushing", "\(run.lines)")
            #expect(run.index(of: "fixture_call_handwritten_\(caller)") == 1, "\(run.frames)")
            #expect(run.frames.last?.hasPrefix("clone") == true, "\(run.frames)")
        }
    #endif

    /// fsync alternates between running and waiting in the kernel. On a fast disk the thread may move in every attempt of a run:
    /// then the record says so, and another run is tried.
    @Test func `a thread in fsync is captured without being disturbed`() throws {
        var isCaptured = false
        for _ in 0..<5 where !isCaptured {
            let run = try ProbeRun("fsync")
            #expect(run["undisturbed"] == "yes")
            isCaptured = run.index(of: "syncUntilReleased") != nil
            #expect(isCaptured || run["failure"] == "thread_kept_moving", "\(run.lines)")
        }
        #expect(isCaptured)
    }

    @Test func `a thread that alternates between sleeping and running is never interrupted`() throws {
        let run = try ProbeRun("alternating")
        #expect(run["undisturbed"] == "yes", "a sleep was interrupted")
        // Usually it is found asleep. If the scheduler preempted it while it computed, a signal may be sent to it.
        #expect(run.index(of: "alternateUntilReleased") != nil || run["failure"] == "thread_kept_moving", "\(run.lines)")
    }

    @Test func `each stall interrupts at most one system call`() throws {
        let run = try ProbeRun("cut-call")
        let cuts = (1...2).map { run["cuts-\($0)"].flatMap { Int($0) } ?? -1 }
        #expect(run.status == 0 && (0...1).contains(cuts[0]) && (0...1).contains(cuts[1] - cuts[0]), "\(run.lines)")
    }

    @Test func `a running thread is captured by a signal`() throws {
        let run = try ProbeRun("spin")
        #expect(run["method"] == "signal")
        #expect(run["end"] == "complete")
        #expect(run.index(of: "spinUntilReleased") != nil)
        #expect(run.frames.last?.hasPrefix("clone") == true)
    }

    /// Needs a kernel that lets a process sample itself; otherwise the record gives the reason why it has no stack.
    @Test func `a running thread that blocks every signal is sampled by the kernel`() throws {
        let run = try ProbeRun("blocked-signals-running")
        #expect(run.status == 0)
        guard Self.canSample else {
            #expect(run["method"] == "none")
            #expect(run["failure"] == "signals_blocked")
            return
        }
        #expect(run["method"] == "perf_event")
        #expect(run["end"] == "complete")
        #expect(run.index(of: "spinUntilReleased") != nil)
        #expect(run.frames.last?.hasPrefix("clone") == true)
    }

    @Test(arguments: ["handler-sleeping", "handler-running", "alternate-stack"])
    func `the stack of a stall in a signal handler includes the interrupted code`(scenario: String) throws {
        let run = try ProbeRun(scenario)
        // The end of a handler's stack is unknown. The kernel's signal frame could overwrite memory below it: no signal is sent.
        guard scenario == "handler-sleeping" || Self.canSample else { return #expect(run["failure"] == "stack_unknown") }
        #expect(
            run["end"] == "complete" && run["method"] == (scenario == "handler-sleeping" ? "passive" : "perf_event"),
            "\(run.lines)"
        )
        #expect(run["undisturbed"] == "yes")
        let handler = try #require(run.index(of: "fixture_signal_handler"))
        let trampoline = try #require(run.index(of: "[signal]"))
        let interrupted = try #require(run.index(of: "fixture_in_signal_handler"))
        #expect(handler < trampoline && trampoline < interrupted)
    }

    /// At the handler's jump target, no call instruction precedes the return address.
    @Test(arguments: ["jumping-handler", "jumping-handler-alternate"])
    func `a signal handler that ends in a jump does not truncate the stack`(scenario: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run["end"] == "complete", "\(run.lines)")
        #expect(run["undisturbed"] == "yes")
        let sleeping = try #require(run.index(of: "fixture_framed_sleep"))
        let trampoline = try #require(run.index(of: "[signal]"))
        let interrupted = try #require(run.index(of: "fixture_in_jumping_handler"))
        #expect(sleeping < trampoline && trampoline < interrupted)
    }

    @Test func `a thread whose stack is nearly full gets no signal`() throws {
        let run = try ProbeRun("stack-end-running")
        #expect(run.status == 0, "the process crashed")
        #expect(run["method"] == (Self.canSample ? "perf_event" : "none"))
        #expect(Self.canSample || run["failure"] == "stack_nearly_full")
    }

    @Test(.enabled(if: Self.mayLockMemory, "needs the permission to lock memory"))
    func `locked memory does not prevent sampling a thread`() throws {
        let run = try ProbeRun("locked-memory")
        guard Self.canSample else { return #expect(run["failure"] == "stack_nearly_full") }
        #expect(run["method"] == "perf_event", "\(run.lines)")
        #expect(run.index(of: "spinUntilReleased") != nil)
    }

    private static var mayLockMemory: Bool {
        var limit = rlimit()
        return geteuid() == 0 || getrlimit(__rlimit_resource_t(8), &limit) == 0 && limit.rlim_cur == .max
    }

    @Test(arguments: ["profiled-before", "profiled-after"])
    func `a program that uses SIGPROF keeps it and is captured by another signal`(scenario: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run["method"] == "signal")
        #expect(run.index(of: "spinUntilReleased") != nil)
        #expect(run["own"] == "5", "the host's own signals arrive")
        #expect(run["foreign"] == "0", "the host gets none of our signals")
    }

    @Test func `a profiler whose handler chains to ours does not kill the process`() throws {
        let run = try ProbeRun("profiler-chains")
        #expect(run.status == 0)
        #expect(run["alive"] == "yes" && run["alive-after"] == "yes")
    }

    @Test func `threads that exit during a capture do no harm`() throws {
        let run = try ProbeRun("exiting")
        #expect(run.status == 0)
        #expect(run["undisturbed"] == "yes")
        #expect(run.lines.contains { $0.hasPrefix("outcome=") })
    }

    @Test func `the program keeps its own unwinder`() throws {
        let run = try ProbeRun("host-unwinder")
        #expect(run["exceptions"] == "yes")
        #expect(run["backtrace"] == "yes")
        for line in run.lines where line.hasPrefix("symbol=") {
            #expect(line.contains("libgcc_s") || line.contains("/libc.so"), "\(line)")
            #expect(!line.contains("libunwind"))
        }
    }

    @Test func `frames of a deep recursion beyond the buffer are counted`() throws {
        let run = try ProbeRun("deep")
        #expect(run.frames.count == 256)
        #expect(try #require(Int(run["total"] ?? "")) > 1500)
        // The innermost frames, then the outermost ones up to the thread's start.
        #expect(run.frames[150].contains("recurse") && run.frames[210].contains("recurse"), "\(run.frames)")
        #expect(run.frames.suffix(4).contains { $0.contains("start_thread") }, "\(run.frames.suffix(8))")
        #expect(run["end"] == "complete")
    }

    @Test func `a capture signal still pending at removal is discarded`() throws {
        let run = try ProbeRun("removal-with-pending-signal")
        #expect(run.status == 0, "the pending signal's default action ended the process")
        #expect(run["timed-out"] == "yes")
    }

    @Test func `a capture signal without sender information is not passed on`() throws {
        let run = try ProbeRun("lost-sender")
        #expect(run.status == 0, "the signal's default action ended the process")
        #expect(["signal_timed_out", "not_permitted"].contains(run["failure"] ?? ""))
    }

    @Test func `a late answer from a thread is still accepted`() throws {
        let run = try ProbeRun("late-answer")
        #expect(run["owed"] == "yes")
        #expect(run["answered"] == "yes")
    }

    /// Neither capture nor watchdog needs the lock of malloc or the loader. The record is written when the lock is free.
    @Test(
        arguments: [
            ("malloc-lock", ["malloc_stats", "fixture_malloc_stats"]),
            ("dlopen", ["stalling_constructor", "call_init", "dlopen", "StallingLibrary.open"]),
        ]
    )
    func `a stall that holds the lock of malloc or the loader is captured and reported`(scenario: String, expected: [String])
        throws
    {
        let run = try ProbeRun(scenario)
        #expect(run.status == 0)
        #expect(run["lock-held"] == "yes", "the scenario did not hold the lock")
        let record = try run.record
        #expect(record["capture"] as? String == "passive")
        #expect(record["phase"] as? String == "end")
        #expect(try #require(record["duration_ms"] as? Double) > 400)
        let symbols = try #require(record["frames"] as? [[String: Any]]).map { $0["symbol"] as? String ?? "" }
        var at = symbols[...]
        for name in expected {
            let found = try #require(at.firstIndex { $0.contains(name) }, "\(name) not in order in \(symbols)")
            at = symbols[(found + 1)...]
        }
    }
}
