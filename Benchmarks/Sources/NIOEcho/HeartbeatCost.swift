import Dispatch
import Glibc
import LagMonitor
import LagMonitorNIO
import NIOCore
import NIOPosix
import Synchronization

/// What a heartbeat takes of a busy loop's time: the CPU time of so many turns with heartbeats, less that of as many without.
enum HeartbeatCost {
    /// Heartbeats, as fast as 20 µs apart, from a thread of their own.
    private final class Beats: Sendable {
        private let isOver = Atomic<Bool>(false)
        private let beating = DispatchGroup()

        init(of loop: NIOLoop) {
            DispatchQueue.global().async(group: beating) {
                while !self.isOver.load(ordering: .relaxed) {
                    loop.ping()
                    usleep(20)
                }
            }
        }

        func end() {
            isOver.store(true, ordering: .relaxed)
            beating.wait()
        }
    }

    private static let turns = 100_000

    static func measure(rounds: Int) throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = NIOLoops(group)[0]
        var costs: [Double] = []
        for round in 0..<(rounds + 2) {
            let quiet = cpuOfTurns(on: loop.eventLoop)
            let before = loop.heartbeats
            let beats = Beats(of: loop)
            let beaten = cpuOfTurns(on: loop.eventLoop)
            beats.end()
            // The first ones are for the caches.
            if round >= 2 { costs.append((beaten - quiet) / Double(loop.heartbeats - before)) }
        }
        let summary = Summary(costs)
        print(
            "loop time of a heartbeat: median \(Int(summary.median)) ns, 95 % \(Int(summary.low))…\(Int(summary.high)) ns, \(rounds) pairs"
        )
        try group.syncShutdownGracefully()
    }

    /// Nanoseconds.
    private static func cpuOfTurns(on loop: any EventLoop) -> Double {
        let promise = loop.makePromise(of: Double.self)
        loop.execute {
            let start = cpuTime()
            turn(loop, turns) { promise.succeed(cpuTime() - start) }
        }
        return (try? promise.futureResult.wait()) ?? .nan
    }

    private static func turn(_ loop: any EventLoop, _ left: Int, _ end: @escaping @Sendable () -> Void) {
        loop.execute { left == 0 ? end() : turn(loop, left - 1, end) }
    }

    private static func cpuTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}
