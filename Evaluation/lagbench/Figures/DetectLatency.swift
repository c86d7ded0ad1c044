internal import CLagBeacon
internal import Dispatch
internal import LagMonitor
internal import LagOutput
internal import LagRunLoop
internal import Synchronization

/// How long after the threshold a stall is found: sixty stalls of random length and phase, half of them asleep, half computing.
///
/// The monitor's latency is the watchdog's own time in the `begin` record, which `hangAfter = .zero` requests at detection, after
/// the stack was captured; minus the stall's start as read by the stalled callback itself, minus the threshold. For the
/// observer-and-semaphore watchdog, the detection is the time of its third timeout. Both run at the same time on separate loops,
/// so they have the same conditions.
struct DetectLatency: Benchmark {
    let name = "detect_latency"
    let unit = "ms"
    let targets = [Target(.value, .atMost(50))]

    private static let stalls = 60
    private static let lengths = 160.0...400.0
    private static let pauses = 20.0...90.0
    private static let thresholdNanoseconds: UInt64 = 150_000_000

    func run() throws -> [BenchLine] {
        var configuration = StallMonitorConfiguration()
        configuration.hangAfter = .zero
        // All stalls have the same fingerprint, and each must be reported.
        configuration.limits = .none
        let monitor = StallMonitor(configuration: configuration)
        let found = Found()
        monitor.onStall(queue: DispatchQueue(label: "bench")) { found.record($0) }
        try monitor.start()
        defer { monitor.stop() }
        let thread = try KeepAliveThread(name: "bench-stalls")
        defer {
            thread.stop()
            thread.join()
        }
        try monitor.watch(thread.loop)
        let (ours, theirs) = (Stalls(), Stalls())
        let source = RunLoopSource { ours.stall() }
        thread.loop.add(source, to: .default)
        let semaphoreWatchdog = try SemaphoreWatchdog()
        let loop = try CoreFoundationLoop(observer: semaphoreWatchdog) { theirs.stall() }
        defer {
            loop.stop()
            semaphoreWatchdog.stop()
        }

        let theirDriver = try BenchThread { Self.drive(theirs) { loop.signal() } }
        Self.drive(ours) { source.signalAndWake() }
        theirDriver.join()
        Pause.sleep(milliseconds: 300)
        return [
            try line(ours.done, found.times, theirs.done, semaphoreWatchdog.detections)
        ]
    }

    private func line(_ ours: [Stalls.Stall], _ found: [UInt64], _ theirs: [Stalls.Stall], _ semaphoreWatchdog: [UInt64]) throws
        -> BenchLine
    {
        let latencies = Samples(ours.compactMap { Self.latency(of: $0, in: found) })
        let peerLatencies = Samples(theirs.compactMap { Self.latency(of: $0, in: semaphoreWatchdog) })
        // On a busy machine a stall may end before it is found: then it has a record, but no latency.
        guard latencies.count > 0 else { throw BenchmarkFailure("none of \(ours.count) stalls was found before its end") }
        var line = BenchLine(name, latencies.percentile(99), unit).comparing(
            with: "semaphore_watchdog",
            peerLatencies.percentile(99)
        )
        line.p50 = latencies.median
        line.p99 = latencies.percentile(99)
        return line.annotating("peer_p50", BenchLine.format(peerLatencies.median))
            .annotating("found", "\(latencies.count)/\(ours.count)").annotating(
                "peer_found",
                "\(peerLatencies.count)/\(theirs.count)"
            )
    }

    /// Milliseconds from the threshold to the first detection within the stall; nil without a detection.
    private static func latency(of stall: Stalls.Stall, in times: [UInt64]) -> Double? {
        guard let time = times.first(where: { $0 >= stall.begin && $0 <= stall.end + thresholdNanoseconds }) else { return nil }
        return (Double(time) - Double(stall.begin) - Double(thresholdNanoseconds)) / 1_000_000
    }

    /// Causes the stalls, one at a time, at random phases of the watchdog's tick.
    private static func drive(_ stalls: Stalls, signal: () -> Void) {
        for index in 0..<Self.stalls {
            Pause.sleep(milliseconds: .random(in: pauses))
            stalls.plan(milliseconds: .random(in: lengths), computing: index % 2 == 1)
            signal()
            stalls.ended.wait()
        }
    }

    /// The callback that stalls as planned, and its measurements.
    private final class Stalls: Sendable {
        struct Stall: Sendable {
            let begin: UInt64
            let end: UInt64
        }

        private struct State {
            var milliseconds = 0.0
            var computing = false
            var done: [Stall] = []
        }

        let ended = DispatchSemaphore(value: 0)
        private let state = Mutex(State())

        var done: [Stall] { state.withLock { $0.done } }

        func plan(milliseconds: Double, computing: Bool) {
            state.withLock {
                $0.milliseconds = milliseconds
                $0.computing = computing
            }
        }

        func stall() {
            let begin = clb_now_ns()
            let (milliseconds, computing) = state.withLock { state in
                defer { state.milliseconds = 0 }
                return (state.milliseconds, state.computing)
            }
            // The only call without a planned stall is the one that ends the loop.
            guard milliseconds > 0 else { return }
            let deadline = begin + UInt64(milliseconds * 1_000_000)
            if computing { Pause.spin(until: deadline) } else { Pause.sleep(until: deadline) }
            let end = clb_now_ns()
            state.withLock { $0.done.append(Stall(begin: begin, end: end)) }
            ended.signal()
        }
    }

    /// When the monitor found stalls, by its `begin` records.
    private final class Found: Sendable {
        private let all = Mutex<[UInt64]>([])

        var times: [UInt64] { all.withLock { $0 } }

        func record(_ record: StallRecord) {
            guard record.phase == .begin else { return }
            all.withLock { $0.append(record.startMonotonicNanoseconds + record.durationNanoseconds) }
        }
    }
}
