internal import CLagBeacon
internal import CLagLinux
import Glibc
internal import LagActivity
import LagCapture
import StallFixtures
import Synchronization

extension Scenario {
    private static func stall(untilSet loop: @escaping @Sendable (UnsafePointer<UInt8>) -> Void) throws {
        // Unchecked: the loop reads the byte again each time, and its only change is one store.
        nonisolated(unsafe) let flag = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
        flag.initialize(to: 0)
        let body: @Sendable (StalledThread) -> Int = { thread in
            thread.setReady()
            loop(flag)
            return 0
        }
        try stall(sleeping: false, letGo: { flag.pointee = 1 }, body)
    }

    static let running: [String: Body] = [
        "spin": {
            try stall(sleeping: false) { thread in
                thread.setReady()
                return spinUntilReleased(thread)
            }
        },
        "generated-running": { try stall(untilSet: { fixture_generated_loop($0) }) },
        "handwritten-leaf": { try stall(untilSet: { fixture_call_handwritten(0, $0) }) },
        "handwritten-pushing": { try stall(untilSet: { fixture_call_handwritten(1, $0) }) },
        "handwritten-moving": { try stall(untilSet: { fixture_call_handwritten(2, $0) }) },
        "handwritten-aligning": { try stall(untilSet: { fixture_call_handwritten(4, $0) }) },
        "handwritten-keeping": { try stall(untilSet: { fixture_call_handwritten(5, $0) }) },
        "handwritten-called": { try stall(untilSet: { fixture_call_handwritten_directly($0, 64) }) },
        "handwritten-chosen": { try stall(untilSet: { fixture_call_handwritten_choice($0) }) },
        "handwritten-behind-stub": { try stall(untilSet: { fixture_call_handwritten_stub($0) }) },
        "handwritten-at-run-time": { try stall(untilSet: { fixture_call_handwritten(3, $0) }) },
        // Working in a call that a signal interrupts: within one stall, and in the next one.
        "cut-call": {
            let capture = try ThreadCapture()
            SignalCapture.install()
            let cuts = Gate()
            let thread = StalledThread { thread in
                let bytes = 32 << 20
                let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 4096)
                let source = open("/dev/urandom", O_RDONLY | O_CLOEXEC)
                thread.setReady()
                while !thread.isReleased { if read(source, memory, bytes) != bytes { cuts.add() } }
            }
            thread.waitUntilStalled(sleeping: false)
            let frames = FrameBuffer(capacity: 64)
            for stall in 1...2 {
                for _ in 0..<4 {
                    _ = capture.capture(thread.target, earlier: nil, into: frames)
                    usleep(20_000)
                }
                print("cuts-\(stall)=\(cuts.value)")
                capture.forget(thread.target.tid)
            }
            _exit(0)
        },
        "fsync": {
            let path = "probe-\(getpid()).tmp"
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            defer { unlink(path) }
            try stall(sleeping: true) { thread in
                thread.setReady()
                return syncUntilReleased(thread, descriptor)
            }
        },
        "alternating": {
            try stall(sleeping: true) { thread in
                thread.setReady()
                return alternateUntilReleased(thread)
            }
        },
        "blocked-signals-running": {
            try stall(sleeping: false) { thread in
                blockEverySignal()
                thread.setReady()
                return spinUntilReleased(thread)
            }
        },
        "handler-running": {
            try stall(sleeping: false) { thread in
                thread.setReady()
                return stallInHandler(alternateStack: false) { spinUntilReleased(thread) }
            }
        },
        "alternate-stack": {
            try stall(sleeping: false) { thread in
                thread.setReady()
                return stallInHandler(alternateStack: true) { spinUntilReleased(thread) }
            }
        },
        "stack-end-running": {
            try stall(sleeping: false, stackBytes: 128 * 1024) { thread in
                stallAtStackEnd(thread, margin: 3000) {
                    thread.setReady()
                    return spinUntilReleased(thread)
                }
            }
        },
        // Every page of every stack is mapped, and none was written.
        "locked-memory": {
            precondition(mlockall(Int32(MCL_CURRENT | MCL_FUTURE)) == 0, "mlockall")
            try stall(sleeping: false, stackBytes: 256 * 1024) { thread in
                thread.setReady()
                return spinUntilReleased(thread)
            }
        },
        "profiled-before": {
            ownProfiler.install()
            try stall(sleeping: false) { thread in
                thread.setReady()
                return spinUntilReleased(thread)
            }
            ownProfiler.report()
        },
        "profiled-after": {
            SignalCapture.install()
            ownProfiler.install()
            try stall(sleeping: false) { thread in
                thread.setReady()
                return spinUntilReleased(thread)
            }
            ownProfiler.report()
        },
    ]

    /// A profiler that is installed later and calls the previous handler, as it should.
    static let chaining: [String: Body] = [
        "profiler-chains": {
            SignalCapture.install()
            HostProfiler.installChaining()
            for _ in 0..<3 { pthread_kill(pthread_self(), SIGPROF) }
            print("alive=yes")
            SignalCapture.remove()
            for _ in 0..<3 { pthread_kill(pthread_self(), SIGPROF) }
            print("alive-after=yes")
        }
    ]

    private static let ownProfiler = HostProfiler()
}

/// A host that profiles itself with SIGPROF: it must neither lose its handler nor receive a foreign signal.
final class HostProfiler: Sendable {
    private static let own = Atomic<Int>(0)
    private static let foreign = Atomic<Int>(0)

    private nonisolated(unsafe) static var previous = sigaction()  // set once, before the handler

    static func installChaining() {
        sigaction(SIGPROF, nil, &previous)
        var action = sigaction()
        action.__sigaction_handler.sa_sigaction = { number, info, context in
            HostProfiler.previous.__sigaction_handler.sa_sigaction?(number, info, context)
        }
        action.sa_flags = Int32(SA_SIGINFO) | Int32(SA_RESTART)
        sigaction(SIGPROF, &action, nil)
    }

    func install() {
        var action = sigaction()
        action.__sigaction_handler.sa_sigaction = { _, info, _ in
            if info!.pointee.si_code == SI_TKILL {
                HostProfiler.own.add(1, ordering: .relaxed)
            } else {
                HostProfiler.foreign.add(1, ordering: .relaxed)
            }
        }
        action.sa_flags = Int32(SA_SIGINFO) | Int32(SA_RESTART)
        sigaction(SIGPROF, &action, nil)
    }

    func report() {
        for _ in 0..<5 { pthread_kill(pthread_self(), SIGPROF) }
        print("own=\(Self.own.load(ordering: .relaxed))")
        print("foreign=\(Self.foreign.load(ordering: .relaxed))")
    }
}
