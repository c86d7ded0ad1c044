internal import CLagBeacon
import Dispatch
import Glibc
import LagMonitor
import Synchronization
import TestSupport

/// A loop that stalls in every way, watched by every rule.
enum Stalls {
    struct Scene {
        let monitor: StallMonitor
        let thread: KeepAliveThread

        /// Returns when the watchdog runs.
        init() throws {
            var configuration = StallMonitorConfiguration()
            configuration.rules.callout = .init(interval: .milliseconds(20))
            configuration.rules.starvationThreshold = .milliseconds(150)
            configuration.rules.ping = .init(interval: .milliseconds(20))
            configuration.rules.frame = .init(rate: 60, missed: 6)
            configuration.rules.sampling = .init(interval: .milliseconds(20), samples: 3, functions: 1)
            // Most of the stalls are reported while they last.
            configuration.hangAfter = .milliseconds(250)
            monitor = StallMonitor(configuration: configuration, sinks: [MemorySink()])
            thread = try KeepAliveThread(name: "worker")
            try monitor.start()
        }
    }

    /// A stall, by name.
    private static let all: [(name: String, body: @Sendable () -> Void)] = [
        ("compute", { compute(milliseconds: 400) }),
        ("sleep", { usleep(400_000) }),
        ("read", { readFromPipe(milliseconds: 400) }),
        ("poll a socket", { pollSocket(milliseconds: 300) }),
        ("mutex", { waitForMutex(milliseconds: 400) }),
        ("lock of Swift", { waitForSwiftMutex(milliseconds: 300) }),
        ("deadlock", { deadlock(milliseconds: 500) }),
        ("busy queue", { waitForQueue(milliseconds: 300) }),
        ("semaphore", { _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(300)) }),
        (
            "lock, then compute",
            {
                waitForMutex(milliseconds: 200)
                compute(milliseconds: 200)
            }
        ),
        ("many stacks", { for depth in 1...30 { recurse(depth) { usleep(25_000) } } }),
        (
            "a stop of the process",
            {
                stopProcess(milliseconds: 400)
                usleep(1_200_000)
            }
        ),
        ("page faults", { touchMemory(milliseconds: 300) }),
    ]

    static func run(_ scene: Scene) throws {
        try scene.monitor.watch(scene.thread.loop)
        var expected: UInt64 = 0
        for (name, body) in all {
            scene.thread.perform(body)
            expected += 1
            guard settles({ scene.monitor.statistics.stalls >= expected && scene.thread.loop.isWaiting }) else {
                AllocationProbe.fail("no stall: \(name)")
            }
            expected = scene.monitor.statistics.stalls
        }
        starve(scene.thread)
        guard settles({ scene.monitor.statistics.stalls > expected }) else { AllocationProbe.fail("no starvation") }
        try runWithoutCallouts(scene.monitor)
        // Many at once, more than there is memory for, and watches that end during a stall.
        let others = try (0..<80).map { try KeepAliveThread(name: "other \($0)") }
        for other in others { try scene.monitor.watch(other.loop, rules: Self.plainRules) }
        for other in others { other.perform { usleep(500_000) } }
        usleep(300_000)
        scene.monitor.pause(others[0].loop)
        usleep(20_000)
        scene.monitor.resume(others[0].loop)
        scene.monitor.unwatch(others[1].loop)
        for other in others {
            other.stop()
            _ = other.join()
        }
        usleep(100_000)
    }

    /// The other rules alone.
    private static func runWithoutCallouts(_ monitor: StallMonitor) throws {
        for change in [
            { (rules: inout StallRules) in rules.ping = .init(interval: .milliseconds(20)) },
            { $0.pingWhileWaiting = .init(interval: .milliseconds(20)) },
            { $0.frame = .init(rate: 60, missed: 6) },
            { $0.sampling = .init(interval: .milliseconds(20), samples: 3, functions: 2) },
            { $0.starvationThreshold = .milliseconds(100) },
        ] {
            var rules = StallRules.empty
            change(&rules)
            let thread = try KeepAliveThread(name: "other rule")
            try monitor.watch(thread.loop, rules: rules)
            let before = monitor.statistics.stalls
            usleep(100_000)
            let isAlone = rules.pingWhileWaiting != nil
            // Without a processor there is nothing to sample: then it is tried again.
            var attempts = 0
            repeat {
                attempts += 1
                if rules.starvationThreshold != nil { starve(thread) } else { thread.perform { compute(milliseconds: 400) } }
                try thread.performAndWait {}
                usleep(100_000)
            } while !isAlone && monitor.statistics.stalls == before && attempts < 10
            guard settles({ isAlone || monitor.statistics.stalls > before }) else {
                AllocationProbe.fail("no stall by \(rules)")
            }
            usleep(100_000)
            thread.stop()
            _ = thread.join()
        }
    }

    private static var plainRules: StallRules {
        var rules = StallRules()
        rules.callout = .init(interval: .milliseconds(20))
        return rules
    }

    /// Afterwards the reporter and the watchdog have most likely finished their work for it too.
    private static func settles(_ condition: () -> Bool) -> Bool {
        guard eventually(condition) else { return false }
        usleep(50_000)
        return true
    }

    /// Many short callouts without a rest.
    private static func starve(_ thread: KeepAliveThread) {
        let loop = thread.loop
        let end = MonotonicTime.now + .milliseconds(600)
        loop.perform { link(loop, until: end) }
    }

    private static func link(_ loop: ObservedRunLoop, until end: MonotonicTime) {
        compute(milliseconds: 2)
        if MonotonicTime.now < end { loop.perform { link(loop, until: end) } }
    }

    private static func compute(milliseconds: UInt64) {
        let end = clb_now_ns() + milliseconds * 1_000_000
        while clb_now_ns() < end {}
    }

    private static func recurse(_ depth: Int, _ body: () -> Void) {
        // Another function on the stack at every turn.
        switch depth % 4 {
        case _ where depth == 0: body()
        case 0: first(depth, body)
        case 1: second(depth, body)
        case 2: third(depth, body)
        default: recurse(depth - 1, body)
        }
    }

    private static func first(_ depth: Int, _ body: () -> Void) { recurse(depth - 1, body) }
    private static func second(_ depth: Int, _ body: () -> Void) { recurse(depth - 1, body) }
    private static func third(_ depth: Int, _ body: () -> Void) { recurse(depth - 1, body) }

    private static func later(milliseconds: Int, _ body: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds), execute: body)
    }

    private static func readFromPipe(milliseconds: Int) {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        let (end, begin) = (ends[0], ends[1])
        later(milliseconds: milliseconds) { _ = write(begin, "x", 1) }
        var byte: UInt8 = 0
        _ = read(end, &byte, 1)
        close(end)
        close(begin)
    }

    private static func pollSocket(milliseconds: Int32) {
        var pair: [Int32] = [0, 0]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair)
        var entry = pollfd(fd: pair[0], events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, milliseconds)
        close(pair[0])
        close(pair[1])
    }

    /// Runs `body` on another thread, and returns when that thread is ready.
    private static func onThread(_ body: @escaping @Sendable (_ ready: () -> Void) -> Void) {
        let ready = DispatchSemaphore(value: 0)
        DispatchQueue(label: "holder").async { body { ready.signal() } }
        ready.wait()
    }

    private static func waitForMutex(milliseconds: UInt32) {
        let mutex = RawMutex()
        onThread { ready in
            mutex.lock()
            ready()
            usleep(milliseconds * 1000)
            mutex.unlock()
        }
        mutex.lock()
        mutex.unlock()
    }

    private static func waitForSwiftMutex(milliseconds: UInt32) {
        final class Box: Sendable { let mutex = Mutex(0) }
        let box = Box()
        onThread { ready in
            box.mutex.withLock { _ in
                ready()
                usleep(milliseconds * 1000)
            }
        }
        box.mutex.withLock { $0 += 1 }
    }

    private static func deadlock(milliseconds: Int) {
        let (first, second) = (RawMutex(), RawMutex())
        first.lock()
        onThread { ready in
            second.lock()
            ready()
            first.lock()
            second.unlock()
            first.unlock()
        }
        // Unlocked in place of this thread, which glibc does not check: it ends the deadlock.
        onThread { ready in
            ready()
            usleep(UInt32(milliseconds) * 1000)
            first.unlock()
        }
        second.lock()
        second.unlock()
    }

    private static func waitForQueue(milliseconds: UInt32) {
        let queue = DispatchQueue(label: "busy")
        let running = DispatchSemaphore(value: 0)
        queue.async {
            running.signal()
            usleep(milliseconds * 1000)
        }
        running.wait()
        queue.sync {}
    }

    /// Another process stops this one in 0.3 s, for that long.
    private static func stopProcess(milliseconds: Int) {
        let command = "sleep 0.3; kill -STOP \(getpid()); sleep \(Double(milliseconds) / 1000); kill -CONT \(getpid())"
        let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sh"), strdup("-c"), strdup(command), nil]
        var child = pid_t()
        guard posix_spawnp(&child, "sh", nil, nil, arguments, environ) == 0 else { AllocationProbe.fail("no shell") }
    }

    private static func touchMemory(milliseconds: UInt64) {
        let end = clb_now_ns() + milliseconds * 1_000_000
        let size = 64 << 20
        while clb_now_ns() < end {
            guard let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) else { return }
            memset(memory, 1, size)
            munmap(memory, size)
        }
    }
}
