internal import CLagBeacon
internal import Dispatch
internal import Foundation
internal import LagMonitor
internal import LagMonitorFoundation
internal import Synchronization

/// How much slower an iteration of a CFRunLoop is when it is watched, in per cent: by a ``FoundationLoop``, and by the
/// observer-and-semaphore watchdog.
///
/// An iteration performs a source that signals itself and wakes its loop, so that the loop iterates as fast as it can, and never
/// sleeps. Its time is the CPU time of its thread, which other processes do not affect. Three equal loops alternate on one
/// processor: not watched, watched by the monitor, and watched by the observer-and-semaphore watchdog. A round compares the
/// three; the figure is the median of the rounds. Two further lines:
/// - `loop_turn_foundation_ns`: the time of a watched iteration; the peer is the loop that is not watched.
/// - `loop_turn_foundation_run`: the same as the first for a loop that runs as `RunLoop.run()` does: a run for each source.
struct FoundationLoopIteration: Benchmark {
    let name = "loop_turn_foundation"
    let unit = "percent"
    let targets = [Target(.value, .atMost(5))]

    private static let rounds = 150
    private static let iterationsPerRound = 4_000

    func run() throws -> [BenchLine] {
        let monitor = StallMonitor()
        try monitor.start()
        defer { monitor.stop() }
        let everywhere = try Placement.current()
        guard let here = everywhere.single.first, let there = everywhere.single.last else {
            throw BenchmarkFailure("no processor")
        }
        // Not on the processor of the loops.
        try here.apply()
        defer { try? everywhere.apply() }

        let iterating = try measure(monitor, on: there, runsAnewForEachSource: false)
        let running = try measure(monitor, on: there, runsAnewForEachSource: true)
        return [
            BenchLine(name, iterating.watchedPercent.median, unit).comparing(
                with: "semaphore_watchdog",
                iterating.semaphoreWatchdogPercent.median
            ),
            BenchLine("\(name)_ns", Samples(iterating.watched).median, "ns").comparing(
                with: "cfrunloop",
                Samples(iterating.free).median
            ),
            BenchLine("\(name)_run", running.watchedPercent.median, unit).comparing(
                with: "semaphore_watchdog",
                running.semaphoreWatchdogPercent.median
            ),
        ]
    }

    /// Nanoseconds per iteration, one number for each round.
    private struct Rounds {
        var free: [Double] = []
        var watched: [Double] = []
        var semaphoreWatchdog: [Double] = []

        var watchedPercent: Samples { Samples(zip(watched, free).map { ($0 / $1 - 1) * 100 }) }
        var semaphoreWatchdogPercent: Samples { Samples(zip(semaphoreWatchdog, free).map { ($0 / $1 - 1) * 100 }) }
    }

    private func measure(_ monitor: StallMonitor, on processor: Placement, runsAnewForEachSource: Bool) throws -> Rounds {
        let semaphoreWatchdog = try SemaphoreWatchdog()
        defer { semaphoreWatchdog.stop() }
        let subjects = try [
            Subject(runsAnewForEachSource),
            Subject(runsAnewForEachSource, monitor: monitor),
            Subject(runsAnewForEachSource, semaphoreWatchdog: semaphoreWatchdog),
        ]
        defer { for subject in subjects { subject.end() } }
        for subject in subjects {
            try processor.apply(to: subject.loop.tid)
            _ = try subject.iterations(Self.iterationsPerRound)
        }
        var rounds = Rounds()
        for _ in 0..<Self.rounds {
            rounds.free.append(try subjects[0].iterations(Self.iterationsPerRound))
            rounds.watched.append(try subjects[1].iterations(Self.iterationsPerRound))
            rounds.semaphoreWatchdog.append(try subjects[2].iterations(Self.iterationsPerRound))
        }
        return rounds
    }

    /// A loop that iterates on request.
    private struct Subject {
        let loop: CoreFoundationLoop
        private let iterating = IteratingCallback()

        init(_ runsAnewForEachSource: Bool, monitor: StallMonitor? = nil, semaphoreWatchdog: SemaphoreWatchdog? = nil) throws {
            loop = try CoreFoundationLoop(
                observer: semaphoreWatchdog,
                runsAnewForEachSource: runsAnewForEachSource,
                prepare: { if let monitor { try? monitor.watch(FoundationLoop(RunLoop.current)) } },
                perform: { [iterating] in iterating.perform() }
            )
            iterating.repeats { [loop] in loop.signal() }
        }

        /// Nanoseconds per iteration, measured over this many.
        func iterations(_ count: Int) throws -> Double {
            iterating.left.store(count, ordering: .releasing)
            loop.signal()
            guard iterating.done.wait(timeout: .now() + .seconds(20)) == .success else {
                throw BenchmarkFailure("a loop did not iterate")
            }
            let nanoseconds = iterating.last.load(ordering: .acquiring) - iterating.first.load(ordering: .acquiring)
            return Double(nanoseconds) / Double(count - 1)
        }

        func end() {
            iterating.repeats(nil)
            loop.stop()
        }
    }

    /// A callback that requests the next one while iterations are left.
    private final class IteratingCallback: Sendable {
        let left = Atomic<Int>(0)
        let first = Atomic<UInt64>(0)
        let last = Atomic<UInt64>(0)
        let done = DispatchSemaphore(value: 0)
        private let isFirst = Atomic<Bool>(true)
        // In a structure, because a bare closure in a Mutex is wrapped again each time it is taken out.
        private struct Next { var signal: (@Sendable () -> Void)? }
        private let next = Mutex(Next())

        /// The CPU time of the calling thread, in nanoseconds.
        private static var threadTime: UInt64 {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
        }

        /// Set before the first iteration; nil breaks the reference cycle between the callback and the function that it calls.
        func repeats(_ signal: (@Sendable () -> Void)?) { next.withLock { $0.signal = signal } }

        func perform() {
            // The last call, for a loop that is being stopped.
            guard left.load(ordering: .acquiring) > 0 else { return }
            if isFirst.exchange(false, ordering: .relaxed) { first.store(Self.threadTime, ordering: .relaxed) }
            if left.subtract(1, ordering: .relaxed).newValue > 0 { return next.withLock { $0 }.signal?() ?? () }
            last.store(Self.threadTime, ordering: .releasing)
            isFirst.store(true, ordering: .relaxed)
            done.signal()
        }
    }
}
