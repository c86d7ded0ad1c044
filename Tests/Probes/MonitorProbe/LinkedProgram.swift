import Dispatch
import Glibc
import LagMonitor
import Synchronization

/// A program with its own monitor, whose main loop executes the letters on stdin, and prints a line for each.
///
/// Its own monitor prints `reported PHASE LOOP START` for each line that it would write.
enum LinkedProgram {
    static let monitor = StallMonitor()
    static let worker = Mutex<KeepAliveThread?>(nil)
    /// Performed as a manual source: the activity is `before_sources`.
    static let stall = RunLoopSource { handlerThatStalls() }
    static let busy = RunLoopSource { handlerThatHasMoreToDo() }
    static let busyUntil = Atomic<UInt64>(0)

    static func run() throws {
        let main = ObservedRunLoop.main
        monitor.onStall(queue: .global()) { say("reported \($0.phase.rawValue) \($0.loop) \($0.startMonotonicNanoseconds)") }
        try monitor.start()
        try monitor.watch(main)
        main.add(stall, to: .default)
        main.add(busy, to: .default)
        main.add(RunLoopDescriptorSource(descriptor: STDIN_FILENO) { _, _ in obey() }, to: .default)
        // Waits endlessly for descriptors, in the C library: the preloaded library finds this loop as well.
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { exit(1) }
        let ticks = ends
        main.add(
            RunLoopDescriptorSource(descriptor: ticks[0]) { _, _ in
                var byte: UInt8 = 0
                _ = read(ticks[0], &byte, 1)
            },
            to: .default
        )
        // The loop itself waits for no descriptor, like Dispatch's timers: this process has one loop that can be found by its
        // waits.
        let ticker = try KeepAliveThread(name: "ticker")
        ticker.loop.add(
            RunLoopTimer(fireDate: .now, interval: .milliseconds(5)) { _ in
                var byte: UInt8 = 1
                _ = write(ticks[1], &byte, 1)
            },
            to: .default
        )
        say("ready")
        main.run()
        ticker.stop()
    }

    static func say(_ text: String) {
        let line = Array((text + "\n").utf8)
        _ = write(STDOUT_FILENO, line, line.count)
    }

    static func obey() {
        var letter: UInt8 = 0
        guard read(STDIN_FILENO, &letter, 1) == 1 else { exit(0) }
        switch Character(Unicode.Scalar(letter)) {
        case "s": stall.signal()
        case "h": handlerThatHangs()
        case "b":
            busyUntil.store(MonotonicTime.now.nanoseconds + 1_600_000_000, ordering: .relaxed)
            busy.signal()
        case "f": waitForForkedChild()
        case "m": _ = ObservedRunLoop.main.run(in: modal(), for: .milliseconds(500), returnAfterSourceHandled: true)
        case "p": monitor.pause()
        case "r": monitor.resume()
        case "u": monitor.unwatch(ObservedRunLoop.main)
        case "a": try! monitor.watch(ObservedRunLoop.main)
        case "w": wedgeWatchdog()
        case "t": startWorker()
        case "e": worker.withLock { $0 = nil }
        case "x": execute()
        default: break
        }
        say("did \(Character(Unicode.Scalar(letter)))")
    }

    @inline(never) static func handlerThatStalls() {
        usleep(400_000)
        say("stalled")
    }

    @inline(never) static func handlerThatHangs() {
        say("hangs")
        while true { pause() }
    }

    /// Many short callouts without a rest.
    static func handlerThatHasMoreToDo() {
        usleep(3000)
        if MonotonicTime.now.nanoseconds < busyUntil.load(ordering: .relaxed) { busy.signalAndWake() } else { say("rests") }
    }

    /// A new mode, created after the watch began; its only source stalls.
    static func modal() -> RunLoopMode {
        let mode = RunLoopMode("modal")
        let source = RunLoopSource { handlerThatStalls() }
        ObservedRunLoop.main.add(source, to: mode)
        source.signal()
        return mode
    }

    /// The child continues to run this loop, like a program that becomes a daemon; its parent waits meanwhile.
    @inline(never) static func waitForForkedChild() {
        typealias Fork = @convention(c) () -> pid_t
        // Swift's Glibc hides it.
        let fork = unsafeBitCast(dlsym(nil, "fork")!, to: Fork.self)
        let child = fork()
        if child == 0 {
            ObservedRunLoop.main.run(until: .now + .milliseconds(500))
            _exit(0)
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        if status != 0 { say("the child ended with \(status)") }
    }

    static func wedgeWatchdog() {
        var rules = StallRules.empty
        rules.ping = .init(interval: .milliseconds(20), timeouts: 3)
        try! monitor.watch(BlockingLoop(), rules: rules)
    }

    static func startWorker() {
        let thread = try! KeepAliveThread(name: "worker-with-a-name")
        worker.withLock { $0 = thread }
        try! monitor.watch(thread.loop)
        thread.perform { handlerThatStalls() }
    }

    /// The same program again, in the same process.
    static func execute() {
        let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("MonitorProbe"), strdup("linked"), nil]
        execv("/proc/self/exe", arguments)
        say("cannot execute")
    }
}

/// A loop that blocks every thread that pings it.
final class BlockingLoop: PingableLoop {
    let beacon = ActivityBeacon()
    let thread = ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0)
    let name = "blocking"
    let publishesActivity = false
    let pingsWithoutLocking = true

    func ping() {
        LinkedProgram.say("wedged")
        while true { pause() }
    }
}
