import Dispatch
import Glibc
import LagMonitor
import LagMonitorNIO
internal import NIOCore
internal import NIOPosix
import Synchronization

/// The cost of a heartbeat for a busy loop: the CPU time of iterations with heartbeats, minus that of the same number without.
/// Also the part of the heartbeat's own task; the rest is NIO's cost for any task from another thread.
enum HeartbeatCost {
    /// Heartbeats from a separate thread, at least 50 µs apart. Without a loop, the thread only sleeps.
    private final class HeartbeatGenerator: Sendable {
        private let isOver = Atomic<Bool>(false)
        private let beating = DispatchGroup()

        init(of loop: NIOLoop?) {
            DispatchQueue.global().async(group: beating) {
                while !self.isOver.load(ordering: .relaxed) {
                    loop?.ping()
                    usleep(50)
                }
            }
        }

        func end() {
            isOver.store(true, ordering: .relaxed)
            beating.wait()
        }
    }

    private static let iterations = 20_000
    /// About 10 µs of work per iteration. Without work, the measurement would only show two threads that contend for a lock.
    private static let workPerIteration = 4000

    static func measure(rounds: Int) throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = NIOLoops(group)[0]
        var costs: [Double] = []
        for round in 0..<(rounds + 2) {
            // Both measurements include the effect of the other thread's wake-ups on this thread's caches.
            let sleeps = HeartbeatGenerator(of: nil)
            let quiet = cpuOfIterations(on: loop.eventLoop)
            sleeps.end()
            let before = loop.heartbeats
            let heartbeats = HeartbeatGenerator(of: loop)
            let busy = cpuOfIterations(on: loop.eventLoop)
            heartbeats.end()
            // The first rounds warm the caches.
            if round >= 2 { costs.append((busy - quiet) / Double(loop.heartbeats - before)) }
        }
        let summary = Summary(costs)
        print(
            "loop time of a heartbeat: median \(Int(summary.median)) ns, 95 % \(Int(summary.low))…\(Int(summary.high)) ns, \(rounds) pairs"
        )
        print(
            "CPU time of the whole iteration that one heartbeat causes in an idle loop: \(Int(try cpuOfWakes(of: loop.eventLoop))) ns"
        )
        print("of that, the heartbeat's own task: \(Int(costOfTask())) ns")
        try group.syncShutdownGracefully()
    }

    /// Nanoseconds.
    private static func cpuOfIterations(on loop: any EventLoop) -> Double {
        let promise = loop.makePromise(of: Double.self)
        loop.execute {
            let start = cpuTime()
            iterate(loop, iterations) { promise.succeed(cpuTime() - start) }
        }
        return (try? promise.futureResult.wait()) ?? .nan
    }

    private static func iterate(_ loop: any EventLoop, _ left: Int, _ end: @escaping @Sendable () -> Void) {
        loop.execute {
            work()
            if left == 0 { end() } else { iterate(loop, left - 1, end) }
        }
    }

    @inline(never) private static func work() {
        var value = result.load(ordering: .relaxed)
        for _ in 0..<workPerIteration { value = (value ^ value >> 29) &* 6_364_136_223_846_793_005 &+ 1 }
        result.store(value, ordering: .relaxed)
    }

    // So that the work is not optimised away.
    private static let result = Atomic<UInt64>(0)

    /// The upper bound of a heartbeat's cost, which watched loops avoid when idle: waking up, reading NIO's eventfd, the task.
    private static func cpuOfWakes(of loop: any EventLoop) throws -> Double {
        let beacon = ActivityBeacon()
        let count = 5000
        let start = try loop.submit { cpuTime() }.wait()
        for _ in 0..<count {
            loop.execute { beacon.pong() }
            usleep(100)
        }
        return try loop.submit { cpuTime() - start }.wait() / Double(count)
    }

    /// The same work as in `NIOLoopLink.answer`.
    private static func costOfTask() -> Double {
        let beacon = ActivityBeacon()
        let isOutstanding = Atomic<Bool>(false)
        let (start, times) = (cpuTime(), 1_000_000)
        for _ in 0..<times {
            isOutstanding.store(false, ordering: .sequentiallyConsistent)
            beacon.pong()
        }
        return (cpuTime() - start) / Double(times)
    }

    private static func cpuTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}
