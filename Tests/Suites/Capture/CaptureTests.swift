import CLagLinux
import Glibc
import Testing

/// Real threads in known stalls, each in a process of its own.
@Suite struct CaptureTests {
    /// Whether the kernel lets a process sample itself. The time for it is over, so where it is permitted nothing else is wrong.
    private static let canSample: Bool = {
        var (nowhere, place) = (cll_snapshot(), Int32(0))
        return cll_perf_sample(cll_gettid(), 0, 0, &nowhere, 0, &place) == ETIMEDOUT
    }()

    /// A sleeping thread is read without its noticing, from the leaf to the thread's first frame.
    @Test(
        arguments: [
            ("sleep", "sleepUndisturbed"), ("read", "readUndisturbed"), ("poll", "pollUndisturbed"),
            ("lock", "lockUndisturbed"), ("semaphore", "waitUndisturbed"), ("child", "waitForChild"),
            ("vfork", "waitInVfork"), ("blocked-signals-sleeping", "sleepUndisturbed"),
            ("stack-end-sleeping", "sleepUndisturbed"),
        ]
    )
    func `sleeping thread is read passively and completely`(scenario: String, function: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.status == 0)
        #expect(run["method"] == "passive")
        #expect(run["failure"] == "-")
        #expect(run["end"] == "complete")
        #expect(run["undisturbed"] == "yes", "the thread's wait was cut short or failed")
        #expect(run.index(of: function) != nil, "\(run.frames)")
        #expect(try #require(run.index(of: function)) <= 4, "the stalling function is near the leaf: \(run.frames)")
        if scenario != "stack-end-sleeping" { #expect(run.frames.last?.hasPrefix("clone") == true, "\(run.frames)") }
    }

    @Test func `frames of code without frame pointers between Swift frames`() throws {
        let run = try ProbeRun("frameless")
        #expect(run["end"] == "complete")
        #expect(run["undisturbed"] == "yes")
        let inner = try #require(run.index(of: "sleepUndisturbed"))
        let middle = try #require(run.index(of: "fixture_frameless_call"))
        let outer = try #require(run.index(of: "StalledThread.init"))
        #expect(inner < middle && middle < outer)
        #expect(run.frames.last?.hasPrefix("clone") == true)
    }

    /// What was passed over could be the culprit, and frames further out hold together better.
    @Test func `frames of optimised functions with frame pointers below one without are all there`() throws {
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

    @Test func `an earlier call that lies in a frame which grew is no caller`() throws {
        let run = try ProbeRun("grown-frame")
        #expect(run["end"] == "complete" && run["method"] == "passive")
        #expect(run.index(of: "fixture_present_caller") != nil, "\(run.frames)")
        #expect(run.index(of: "fixture_earlier_caller") == nil, "\(run.frames)")
    }

    @Test func `the caller of code without unwind information is there`() throws {
        let run = try ProbeRun("timed-semaphore")
        #expect(run["end"] == "complete" && run["method"] == "passive")
        #expect(run["undisturbed"] == "yes")
        #expect(run.index(of: "waitAtMost") != nil, "\(run.frames)")
        #expect(run.index(of: "StalledThread.init") != nil, "\(run.frames)")
        #expect(run.frames.last?.hasPrefix("clone") == true, "\(run.frames)")
    }

    #if arch(x86_64)
        /// No tables cover such code: frame records lead through it, one frame a function, and the tables go on in the code that called it.
        @Test(arguments: [("generated-running", "signal"), ("generated-sleeping", "passive"), ("generated-later", "passive")])
        func `frames of code made at run time lead back to the tables`(scenario: String, method: String) throws {
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

        /// The code's end says where its return address is, and the call before that address that it is one.
        @Test(arguments: ["leaf", "pushing", "moving", "aligning", "keeping", "at-run-time"])
        func `code written by hand is left by what it does before it returns`(kind: String) throws {
            let run = try ProbeRun("handwritten-\(kind)")
            #expect(run["method"] == "signal" && run["end"] == "complete", "\(run.lines)")
            #expect(run.frames.first == (kind == "at-run-time" ? "?" : "fixture_handwritten_\(kind)"), "\(run.frames)")
            #expect(run.index(of: "fixture_call_handwritten") == 1, "\(run.frames)")
            #expect(run.frames.last?.hasPrefix("clone") == true, "\(run.frames)")
        }

        /// Asleep, the frame pointer is not known.
        @Test func `code written by hand that sleeps is left by the call of it`() throws {
            let run = try ProbeRun("handwritten-read")
            #expect(run["method"] == "passive" && run["end"] == "complete", "\(run.lines)")
            #expect(run.frames.first == "fixture_handwritten_read" && run.index(of: "fixture_read_by_hand") == 1, "\(run.frames)")
        }

        /// Also where a function was called for it, which goes on in it.
        @Test(arguments: [("called", "directly"), ("chosen", "choice"), ("behind-stub", "stub")])
        func `code written by hand may use its callers frame pointer for something else`(kind: String, caller: String) throws {
            let run = try ProbeRun("handwritten-\(kind)")
            #expect(run["end"] == "complete" && run.frames.first == "fixture_handwritten_pushing", "\(run.lines)")
            #expect(run.index(of: "fixture_call_handwritten_\(caller)") == 1, "\(run.frames)")
            #expect(run.frames.last?.hasPrefix("clone") == true, "\(run.frames)")
        }
    #endif

    /// fsync alternates between running and waiting in the kernel. On a fast disk it may do so at every look: then the record says
    /// that, and the next look is another chance.
    @Test func `syncing thread is captured without disturbing it`() throws {
        var isCaptured = false
        for _ in 0..<5 where !isCaptured {
            let run = try ProbeRun("fsync")
            #expect(run["undisturbed"] == "yes")
            isCaptured = run.index(of: "syncUntilReleased") != nil
            #expect(isCaptured || run["failure"] == "thread_kept_moving", "\(run.lines)")
        }
        #expect(isCaptured)
    }

    @Test func `thread that sleeps and runs by turns is never interrupted`() throws {
        let run = try ProbeRun("alternating")
        #expect(run["undisturbed"] == "yes", "a sleep was cut short")
        // Usually it is found asleep. Put aside by the scheduler while it computes, it may be asked by a signal.
        #expect(run.index(of: "alternateUntilReleased") != nil || run["failure"] == "thread_kept_moving", "\(run.lines)")
    }

    @Test func `a stall cuts one call short at most`() throws {
        let run = try ProbeRun("cut-call")
        let cuts = (1...2).map { run["cuts-\($0)"].flatMap { Int($0) } ?? -1 }
        #expect(run.status == 0 && (0...1).contains(cuts[0]) && (0...1).contains(cuts[1] - cuts[0]), "\(run.lines)")
    }

    @Test func `running thread is read by a signal`() throws {
        let run = try ProbeRun("spin")
        #expect(run["method"] == "signal")
        #expect(run["end"] == "complete")
        #expect(run.index(of: "spinUntilReleased") != nil)
        #expect(run.frames.last?.hasPrefix("clone") == true)
    }

    /// Needs a kernel that lets a process sample itself; elsewhere the record says why there is no stack.
    @Test func `running thread that blocks every signal is sampled`() throws {
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
    func `stall inside a signal handler shows both sides of the signal`(scenario: String) throws {
        let run = try ProbeRun(scenario)
        // Where the stack of a handler ends is not known, and the kernel's frame of a signal may lie on what is below: no signal goes there.
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

    /// Where the handler jumped to, no call stands before the return address.
    @Test(arguments: ["jumping-handler", "jumping-handler-alternate"])
    func `a handler that ends in a jump hides no stack`(scenario: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run["end"] == "complete", "\(run.lines)")
        #expect(run["undisturbed"] == "yes")
        let sleeping = try #require(run.index(of: "fixture_framed_sleep"))
        let trampoline = try #require(run.index(of: "[signal]"))
        let interrupted = try #require(run.index(of: "fixture_in_jumping_handler"))
        #expect(sleeping < trampoline && trampoline < interrupted)
    }

    @Test func `no signal goes to a thread at the end of its stack`() throws {
        let run = try ProbeRun("stack-end-running")
        #expect(run.status == 0, "the process died")
        #expect(run["method"] == (Self.canSample ? "perf_event" : "none"))
        #expect(Self.canSample || run["failure"] == "stack_nearly_full")
    }

    @Test(.enabled(if: Self.mayLockMemory, "needs the permission to lock memory"))
    func `memory that is locked hides no stack`() throws {
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
    func `host that owns SIGPROF keeps it and is captured by another signal`(scenario: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run["method"] == "signal")
        #expect(run.index(of: "spinUntilReleased") != nil)
        #expect(run["own"] == "5", "the host's own signals arrive")
        #expect(run["foreign"] == "0", "ours do not")
    }

    @Test func `profiler that chains to us does not end the process`() throws {
        let run = try ProbeRun("profiler-chains")
        #expect(run.status == 0)
        #expect(run["alive"] == "yes" && run["alive-after"] == "yes")
    }

    @Test func `threads that end meanwhile do no harm`() throws {
        let run = try ProbeRun("exiting")
        #expect(run.status == 0)
        #expect(run["undisturbed"] == "yes")
        #expect(run.lines.contains { $0.hasPrefix("outcome=") })
    }

    @Test func `host keeps its unwinder`() throws {
        let run = try ProbeRun("host-unwinder")
        #expect(run["exceptions"] == "yes")
        #expect(run["backtrace"] == "yes")
        for line in run.lines where line.hasPrefix("symbol=") {
            #expect(line.contains("libgcc_s") || line.contains("/libc.so"), "\(line)")
            #expect(!line.contains("libunwind"))
        }
    }

    @Test func `deep recursion is counted beyond what is kept`() throws {
        let run = try ProbeRun("deep")
        #expect(run.frames.count == 256)
        #expect(try #require(Int(run["total"] ?? "")) > 1500)
        // The innermost and, between the last of them and the thread's beginning, the outermost.
        #expect(run.frames[150].contains("recurse") && run.frames[210].contains("recurse"), "\(run.frames)")
        #expect(run.frames.suffix(4).contains { $0.contains("start_thread") }, "\(run.frames.suffix(8))")
        #expect(run["end"] == "complete")
    }

    @Test func `signal that is still pending is discarded at the end`() throws {
        let run = try ProbeRun("removal-with-pending-signal")
        #expect(run.status == 0, "the pending signal's default action ended the process")
        #expect(run["timed-out"] == "yes")
    }

    @Test func `a signal whose sender was lost is not passed on`() throws {
        let run = try ProbeRun("lost-sender")
        #expect(run.status == 0, "the signal's default action ended the process")
        #expect(["signal_timed_out", "not_permitted"].contains(run["failure"] ?? ""))
    }

    @Test func `answer of a thread that could not give it at once is still taken`() throws {
        let run = try ProbeRun("late-answer")
        #expect(run["owed"] == "yes")
        #expect(run["answered"] == "yes")
    }

    /// Neither capture nor watchdog needs malloc's or the loader's lock; the lines come when the lock is free again.
    @Test(
        arguments: [
            ("malloc-lock", ["malloc_stats", "fixture_malloc_stats"]),
            ("dlopen", ["stalling_constructor", "call_init", "dlopen", "StallingLibrary.open"]),
        ]
    )
    func `stall while holding a lock of the runtime`(scenario: String, expected: [String]) throws {
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
