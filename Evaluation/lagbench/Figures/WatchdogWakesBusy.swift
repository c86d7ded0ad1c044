internal import CLagBeacon
internal import LagDetection
internal import LagMonitor
internal import LagRunLoop
internal import Synchronization

/// The watchdog's wakes per second while a loop iterates as fast as it can. The observer-and-semaphore watchdog wakes for each
/// activity, as fast as it can.
///
/// A source that signals itself and wakes its loop keeps the loop busy. `busy_turn` is the cost of an iteration of the loop that
/// is watched by the observer-and-semaphore watchdog, or by the monitor; `busy_turn_unwatched` is the same for loops without a
/// watchdog. The difference is the cost of watching for a working loop.
struct WatchdogWakesBusy: Benchmark {
    let name = "watchdog_wakes_busy"
    let unit = "per_s"
    let targets = [Target(.value, .atMost(25))]

    private static let settleMilliseconds = 200.0
    private static let milliseconds = 3_000.0
    private static let unwatchedMilliseconds = 1_000.0

    /// The number of events per second.
    private struct Rates {
        let wakes: Double
        let iterations: Double

        var iterationNanoseconds: Double { 1_000_000_000 / iterations }
    }

    /// A callback that counts its calls and, until it is stopped, requests the next one.
    private final class IteratingCallback: Sendable {
        let iterations = Atomic<UInt64>(0)
        let ended = Atomic<Bool>(false)
        // In a structure, because a bare closure in a Mutex is wrapped again each time it is taken out.
        private struct Next { var signal: (@Sendable () -> Void)? }
        private let next = Mutex(Next())

        /// Called before the first iteration.
        func repeats(_ signal: @escaping @Sendable () -> Void) { next.withLock { $0.signal = signal } }

        func perform() {
            iterations.add(1, ordering: .relaxed)
            guard !ended.load(ordering: .relaxed) else { return }
            next.withLock { $0 }.signal?()
        }

        /// Breaks the reference cycle between the callback and the function that it calls.
        func end() {
            ended.store(true, ordering: .relaxed)
            next.withLock { $0.signal = nil }
        }
    }

    func run() throws -> [BenchLine] {
        let (ours, theirs) = (try measureOurs(isWatched: true), try measureTheirs(isObserved: true))
        let (ourFree, theirFree) = (try measureOurs(isWatched: false), try measureTheirs(isObserved: false))
        return [
            BenchLine(name, ours.wakes, unit).comparing(with: "semaphore_watchdog", theirs.wakes),
            BenchLine("busy_turn", ours.iterationNanoseconds, "ns").comparing(
                with: "semaphore_watchdog",
                theirs.iterationNanoseconds
            ),
            BenchLine("busy_turn_unwatched", ourFree.iterationNanoseconds, "ns").comparing(
                with: "cfrunloop",
                theirFree.iterationNanoseconds
            ),
        ]
    }

    private func measureOurs(isWatched: Bool) throws -> Rates {
        let monitor = StallMonitor()
        try monitor.start()
        defer { monitor.stop() }
        let thread = try KeepAliveThread(name: "bench-busy")
        defer {
            thread.stop()
            thread.join()
        }
        if isWatched { try monitor.watch(thread.loop) }
        let iterating = IteratingCallback()
        defer { iterating.end() }
        let source = RunLoopSource { iterating.perform() }
        iterating.repeats { source.signalAndWake() }
        thread.loop.add(source, to: .default)
        source.signalAndWake()
        return try rates(iterating, isWatched ? Self.milliseconds : Self.unwatchedMilliseconds) {
            guard let counters = monitor.watchdogCounters else { throw BenchmarkFailure("the monitor does not run") }
            return counters.wakes
        }
    }

    private func measureTheirs(isObserved: Bool) throws -> Rates {
        let semaphoreWatchdog = try SemaphoreWatchdog()
        let iterating = IteratingCallback()
        let loop = try CoreFoundationLoop(observer: isObserved ? semaphoreWatchdog : nil) { iterating.perform() }
        defer {
            iterating.end()
            loop.stop()
            semaphoreWatchdog.stop()
        }
        iterating.repeats { loop.signal() }
        loop.signal()
        return try rates(iterating, isObserved ? Self.milliseconds : Self.unwatchedMilliseconds) { semaphoreWatchdog.wakes }
    }

    private func rates(_ iterating: IteratingCallback, _ milliseconds: Double, wakes: () throws -> UInt64) throws -> Rates {
        Pause.sleep(milliseconds: Self.settleMilliseconds)
        let begin = (time: clb_now_ns(), wakes: try wakes(), iterations: iterating.iterations.load(ordering: .relaxed))
        Pause.sleep(milliseconds: milliseconds)
        let end = (time: clb_now_ns(), wakes: try wakes(), iterations: iterating.iterations.load(ordering: .relaxed))
        let seconds = Double(end.time - begin.time) / 1_000_000_000
        return Rates(
            wakes: Double(end.wakes - begin.wakes) / seconds,
            iterations: Double(end.iterations - begin.iterations) / seconds
        )
    }
}
