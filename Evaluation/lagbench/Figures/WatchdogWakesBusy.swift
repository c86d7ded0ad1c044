internal import CLagBeacon
internal import LagDetection
internal import LagMonitor
internal import LagRunLoop
internal import Synchronization

/// How often a second the watchdog wakes while a loop turns as fast as it can. The classic one wakes for every activity
/// it can keep up with.
///
/// The loop is kept busy by a source that signals itself and wakes its loop. `busy_turn` is what a turn costs the loop then,
/// observed by the classic observer and by ours; `busy_turn_unwatched` the same loops with nobody watching. The difference
/// is what watching costs a loop that works.
struct WatchdogWakesBusy: Benchmark {
    let name = "watchdog_wakes_busy"
    let unit = "per_s"
    let targets = [Target(.value, .atMost(25))]

    private static let settleMilliseconds = 200.0
    private static let milliseconds = 3_000.0
    private static let unwatchedMilliseconds = 1_000.0

    /// How often a second something happened.
    private struct Rates {
        let wakes: Double
        let turns: Double

        var turnNanoseconds: Double { 1_000_000_000 / turns }
    }

    /// A callback that counts its calls and, until it is ended, calls for the next one.
    private final class Turning: Sendable {
        let turns = Atomic<UInt64>(0)
        let ended = Atomic<Bool>(false)
        // In a structure: a bare closure in a Mutex gets wrapped once more each time it is taken out.
        private struct Next { var signal: (@Sendable () -> Void)? }
        private let next = Mutex(Next())

        /// Before the first turn.
        func repeats(_ signal: @escaping @Sendable () -> Void) { next.withLock { $0.signal = signal } }

        func perform() {
            turns.add(1, ordering: .relaxed)
            guard !ended.load(ordering: .relaxed) else { return }
            next.withLock { $0 }.signal?()
        }

        /// Breaks the circle of the callback and what it calls.
        func end() {
            ended.store(true, ordering: .relaxed)
            next.withLock { $0.signal = nil }
        }
    }

    func run() throws -> [BenchLine] {
        let (ours, theirs) = (try measureOurs(isWatched: true), try measureTheirs(isObserved: true))
        let (ourFree, theirFree) = (try measureOurs(isWatched: false), try measureTheirs(isObserved: false))
        return [
            BenchLine(name, ours.wakes, unit).comparing(with: "classic_observer", theirs.wakes),
            BenchLine("busy_turn", ours.turnNanoseconds, "ns").comparing(with: "classic_observer", theirs.turnNanoseconds),
            BenchLine("busy_turn_unwatched", ourFree.turnNanoseconds, "ns").comparing(
                with: "cfrunloop",
                theirFree.turnNanoseconds
            ),
        ]
    }

    private func measureOurs(isWatched: Bool) throws -> Rates {
        let monitor = LagMonitor()
        try monitor.start()
        defer { monitor.stop() }
        let thread = try KeepAliveThread(name: "bench-busy")
        defer {
            thread.stop()
            thread.join()
        }
        if isWatched { try monitor.watch(thread.loop) }
        let turning = Turning()
        defer { turning.end() }
        let source = RunLoopSource { turning.perform() }
        turning.repeats { source.signalAndWake() }
        thread.loop.add(source, to: .default)
        source.signalAndWake()
        return try rates(turning, isWatched ? Self.milliseconds : Self.unwatchedMilliseconds) {
            guard let counters = monitor.watchdogCounters else { throw BenchmarkFailure("the monitor does not run") }
            return counters.wakes
        }
    }

    private func measureTheirs(isObserved: Bool) throws -> Rates {
        let classic = try ClassicObserver()
        let turning = Turning()
        let loop = try CoreFoundationLoop(observer: isObserved ? classic : nil) { turning.perform() }
        defer {
            turning.end()
            loop.stop()
            classic.stop()
        }
        turning.repeats { loop.signal() }
        loop.signal()
        return try rates(turning, isObserved ? Self.milliseconds : Self.unwatchedMilliseconds) { classic.wakes }
    }

    private func rates(_ turning: Turning, _ milliseconds: Double, wakes: () throws -> UInt64) throws -> Rates {
        Pause.sleep(milliseconds: Self.settleMilliseconds)
        let begin = (time: clb_now_ns(), wakes: try wakes(), turns: turning.turns.load(ordering: .relaxed))
        Pause.sleep(milliseconds: milliseconds)
        let end = (time: clb_now_ns(), wakes: try wakes(), turns: turning.turns.load(ordering: .relaxed))
        let seconds = Double(end.time - begin.time) / 1_000_000_000
        return Rates(wakes: Double(end.wakes - begin.wakes) / seconds, turns: Double(end.turns - begin.turns) / seconds)
    }
}
