internal import CLagBeacon
internal import CLagLinux
import Glibc
internal import LagActivity
import LagCapture
import StallFixtures
import Synchronization

extension Scenario {
    static let others: [String: Body] = [
        // Threads that exit while they are captured: whatever the result is, it is reported, and nothing breaks.
        "exiting": {
            let capture = try ThreadCapture()
            SignalCapture.install()
            let frames = FrameBuffer(capacity: 256)
            var outcomes: [String: Int] = [:]
            for round in 0..<400 {
                let thread = StalledThread { thread in
                    thread.setReady()
                    let end = clb_now_ns() + UInt64(round % 20) * 50_000
                    while clb_now_ns() < end {}
                }
                let outcome = capture.capture(thread.target, earlier: ThreadState(tid: thread.target.tid), into: frames)
                outcomes[outcome.failure?.rawValue ?? "\(outcome.method)", default: 0] += 1
                thread.join()
            }
            SignalCapture.remove()
            for (outcome, count) in outcomes { print("outcome=\(outcome) \(count)") }
            print("undisturbed=yes")
        },
        // The host keeps its own unwinder.
        "host-unwinder": {
            let before = (fixture_throw_and_catch(), fixture_backtrace_depth())
            _ = try ThreadCapture()
            let after = (fixture_throw_and_catch(), fixture_backtrace_depth())
            print("exceptions=\(before.0 == 42 && after.0 == 42 ? "yes" : "no")")
            print("backtrace=\(before.1 == after.1 && after.1 > 1 ? "yes" : "no")")
            for name in ["_Unwind_RaiseException", "_Unwind_Backtrace", "_Unwind_Resume", "backtrace"] {
                let file = fixture_file_of(name)
                print("symbol=\(name) \(file.map { String(cString: $0) } ?? "-")")
            }
        },
        // Deep recursion: more frames than are kept, and more stack than is copied.
        "deep": {
            try stall(sleeping: true, stackBytes: 8 << 20) { thread in
                recurse(1500) {
                    thread.setReady()
                    return sleepUndisturbed(400)
                }
            }
        },
        // A late answer: the signal is blocked when it is sent and delivered after the request was withdrawn.
        "removal-with-pending-signal": {
            SignalCapture.install()
            let thread = answeringLate()
            var snapshot = cll_snapshot()
            let taken = cll_signal_capture(thread.target.tid, SIGPROF, 0, 0, &snapshot, clb_now_ns() + 5_000_000)
            let withdrawn = cll_signal_withdraw()
            print("timed-out=\(taken == CLL_SIGNAL_PENDING && withdrawn == CLL_SIGNAL_TIMED_OUT ? "yes" : "no")")
            SignalCapture.remove()
            CaptureScenarios.finish(thread)
        },
        // The kernel has no memory to store the sender of a signal: it is delivered nevertheless, and must not be taken for a
        // foreign signal.
        "lost-sender": {
            SignalCapture.install()
            let capture = try ThreadCapture()
            let thread = StalledThread { thread in
                thread.setReady()
                _ = spinUntilReleased(thread)
            }
            var none = rlimit(rlim_cur: 0, rlim_max: 0)
            setrlimit(__rlimit_resource_t(11), &none)  // RLIMIT_SIGPENDING
            let outcome = capture.capture(thread.target, earlier: nil, into: FrameBuffer(capacity: 16))
            print("failure=\(outcome.failure?.rawValue ?? "none")")
            SignalCapture.remove()
            CaptureScenarios.finish(thread)
        },
        // The answer comes long after the wait for it: the request remains valid meanwhile.
        "late-answer": {
            SignalCapture.install()
            let thread = answeringLate()
            let stack = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 16)
            var snapshot = cll_snapshot()
            snapshot.stack = stack.assumingMemoryBound(to: UInt8.self)
            snapshot.capacity = 4096
            let target = thread.target
            let taken = withUnsafeMutablePointer(to: &snapshot) { snapshot in
                let asked = cll_signal_capture(
                    target.tid,
                    SIGPROF,
                    target.stackLow,
                    target.stackHigh,
                    snapshot,
                    clb_now_ns() + 5_000_000
                )
                print("owed=\(asked == CLL_SIGNAL_PENDING && cll_signal_has_answer() == 0 ? "yes" : "no")")
                CaptureScenarios.finish(thread)
                return cll_signal_withdraw()
            }
            let isInside = snapshot.stack_begin >= target.stackLow && snapshot.stack_begin < target.stackHigh
            print("answered=\(taken == CLL_SIGNAL_TAKEN && isInside ? "yes" : "no")")
            SignalCapture.remove()
            stack.deallocate()
        },
    ]

    /// A thread that answers no signal before it is released.
    private static func answeringLate() -> StalledThread {
        let thread = StalledThread { thread in
            blockEverySignal()
            thread.setReady()
            _ = spinUntilReleased(thread)
            var none = sigset_t()
            sigemptyset(&none)
            pthread_sigmask(SIG_SETMASK, &none, nil)
            usleep(1000)
        }
        usleep(20_000)
        return thread
    }
}

@inline(never) func recurse(_ depth: Int, _ body: () -> Int) -> Int {
    if depth == 0 { return body() }
    let result = recurse(depth - 1, body)
    return withExtendedLifetime(depth) { result }
}
