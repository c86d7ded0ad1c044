internal import CLagBeacon
internal import Glibc
internal import LagMonitor
internal import LagRunLoop
internal import Synchronization

/// The time from another thread's signal and wake to the callback: a monitored ``ObservedRunLoop`` compared with an unmonitored
/// CFRunLoop. Both callbacks respond in the same way, by storing the time; the other thread polls for it.
///
/// Rounds of both alternate, so that both have the same conditions, and the threads run on the same processors. The result is the
/// median of all iterations. In `loop_turn` the next signal follows immediately, as under load; the monitored loop then polls for
/// a wake for some microseconds before it sleeps. Two further lines show cases in which this polling does not help:
/// - `loop_turn_asleep`: a pause before each signal, so that both loops sleep in the kernel and their processor is idle.
///   Mostly the time in which a processor wakes up, which depends on the machine (in a virtual machine, on the hypervisor).
/// - `loop_turn_one_processor`: both threads on one processor, so that each iteration is a sleep, a wake and a context switch.
struct LoopIteration: Benchmark {
    let name = "loop_turn"
    let unit = "ns"
    let targets = [Target(.ratio, .atLeast(2))]

    private static let rounds = 8
    private static let iterationsPerRound = 4_000
    private static let asleepIterationsPerRound = 400
    private static let sharedIterationsPerRound = 1_000
    fileprivate static let pauseNanoseconds: UInt64 = 300_000

    func run() throws -> [BenchLine] {
        let monitor = StallMonitor()
        try monitor.start()
        defer { monitor.stop() }
        let ours = try Ours()
        let theirs = try Theirs()
        defer {
            ours.thread.stop()
            ours.thread.join()
            theirs.loop.stop()
        }
        try monitor.watch(ours.thread.loop)

        let everywhere = try Placement.current()
        let processors = everywhere.single
        let loopThreads = [ours.thread.loop.thread.tid, theirs.loop.tid]
        guard let here = processors.first, let there = processors.last else { throw BenchmarkFailure("no processor") }
        try here.apply()
        defer { try? everywhere.apply() }

        for tid in loopThreads { try there.apply(to: tid) }
        var (iterations, asleep, shared) = (Pairs(), Pairs(), Pairs())
        for _ in 0..<Self.rounds {
            try iterations.measure(ours, theirs, Self.iterationsPerRound, .atOnce)
            try asleep.measure(ours, theirs, Self.asleepIterationsPerRound, .afterPause)
        }
        for tid in loopThreads { try here.apply(to: tid) }
        for _ in 0..<Self.rounds { try shared.measure(ours, theirs, Self.sharedIterationsPerRound, .yielding) }
        return [line(name, iterations), line("loop_turn_asleep", asleep), line("loop_turn_one_processor", shared)]
    }

    private func line(_ name: String, _ pairs: Pairs) -> BenchLine {
        let (ours, theirs) = (Samples(pairs.ours), Samples(pairs.theirs))
        var line = BenchLine(name, ours.median, unit).comparing(with: "cfrunloop", theirs.median)
        line.p99 = ours.percentile(99)
        return line.annotating("peer_p99", BenchLine.format(theirs.percentile(99)))
    }

    /// The iterations of both.
    private struct Pairs {
        var ours: [Double] = []
        var theirs: [Double] = []

        mutating func measure(_ our: Ours, _ their: Theirs, _ count: Int, _ pace: Answer.Pace) throws {
            ours += try our.answer.iterations(count, pace) { our.source.signalAndWake() }
            theirs += try their.answer.iterations(count, pace) { their.loop.signal() }
        }
    }

    /// The place where a callback stores the time at which it ran.
    private final class Answer: Sendable {
        enum Pace {
            case atOnce
            case afterPause
            /// The signalling thread yields its processor while it waits.
            case yielding
        }

        private let time = Atomic<UInt64>(0)
        private static let patienceNanoseconds: UInt64 = 2_000_000_000

        func give() { time.store(clb_now_ns(), ordering: .releasing) }

        /// Signals and waits for the callback `count` times.
        /// - Returns: nanoseconds from before the signal to the callback, each.
        func iterations(_ count: Int, _ pace: Pace, _ signal: () -> Void) throws -> [Double] {
            var times: [Double] = []
            times.reserveCapacity(count)
            for _ in 0..<count {
                if pace == .afterPause { Pause.spin(until: clb_now_ns() + LoopIteration.pauseNanoseconds) }
                // The loop goes to sleep before this thread gets the processor back.
                if pace == .yielding { sched_yield() }
                time.store(0, ordering: .relaxed)
                let begin = clb_now_ns()
                signal()
                var answered = time.load(ordering: .acquiring)
                while answered == 0 {
                    if pace == .yielding { sched_yield() }
                    if clb_now_ns() - begin > Self.patienceNanoseconds { throw BenchmarkFailure("a loop did not respond") }
                    answered = time.load(ordering: .acquiring)
                }
                times.append(Double(answered) - Double(begin))
            }
            return times
        }
    }

    private struct Ours {
        let answer = Answer()
        let source: RunLoopSource
        let thread: KeepAliveThread

        init() throws {
            source = RunLoopSource { [answer] in answer.give() }
            thread = try KeepAliveThread(name: "bench-loop")
            thread.loop.add(source, to: .default)
        }
    }

    private struct Theirs {
        let answer = Answer()
        let loop: CoreFoundationLoop

        init() throws { loop = try CoreFoundationLoop { [answer] in answer.give() } }
    }
}
