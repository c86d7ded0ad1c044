internal import CLibraryStalls
internal import Foundation
internal import LagMonitor
internal import LagSymbols
internal import Synchronization

/// One scenario on the main thread's run loop, watched by the default rules, at the default priority.
struct ScenarioRun: Sendable {
    let scenario: Scenario
    let milliseconds: Int
    /// Whether the start of the stall gets a separate line, for inspection.
    let announces: Bool

    /// Idle time before and after the stall.
    private static let margin: Duration = .milliseconds(100)
    /// How long the program continues to run for its record, like a server: ``StallMonitor/stop()`` waits a quarter of a second
    /// for lines.
    private static let patience: Duration = .seconds(3)
    /// Long stacks must be complete.
    private static let maxLineBytes = 65_536
    /// Twice the threshold of the default rules. If a stall is shorter, the machine is too fast for the scenario.
    private static let leastDurationMs = 300.0

    /// Runs on the main thread; records go to stdout.
    func execute() throws -> ChildReport {
        let stall = try scenario.prepare()
        var configuration = StallMonitorConfiguration()
        configuration.maxLineBytes = Self.maxLineBytes
        // As in lagmond; an embedded monitor by default only resolves names.
        if getenv("LIBRARY_STALLS_NAMES_ALONE") == nil {
            LineSymbols.enable()
            configuration.symbols = .lines
        }
        let sink = try DescriptorSink(descriptor: STDOUT_FILENO, name: "stdout")
        let monitor = StallMonitor(configuration: configuration, sinks: [sink])
        try monitor.start()
        let loop = ObservedRunLoop.main
        try monitor.watch(loop)
        let (rehearsal, outcome) = (Outcome(), Outcome())
        loop.add(RunLoopObserver(activities: .all) { _, _ in outcome.read(moment_now()) }, to: .common)
        // The first run of this code takes half a millisecond, which would be in the iteration of the stall but outside the
        // measurement.
        loop.add(RunLoopTimer(after: Self.margin / 4) { _ in begin(.callout { _ in 0 }, rehearsal) {} }, to: .common)
        loop.add(
            RunLoopTimer(after: Self.margin) { _ in
                if announces { try? ChildReport.began.print() }
                begin(stall, outcome) { loop.stop() }
            },
            to: .common
        )
        loop.run()
        let end = ContinuousClock.now + Self.patience
        while monitor.statistics.reported < monitor.statistics.stalls, ContinuousClock.now < end { usleep(10_000) }
        monitor.stop()
        guard let truth = try outcome.get() else { return .skipped("the loop ended before the stall") }
        let figures = "\(Int(truth.cpuMs)) of \(Int(truth.durationMs)) ms computed"
        if truth.durationMs < Self.leastDurationMs { return .skipped("this machine is too fast for it: \(figures)") }
        if scenario.mustBlock, truth.cpuMs > truth.durationMs / 2 { return .skipped("the thread does not wait here: \(figures)") }
        return .measured(truth)
    }

    private func begin(_ stall: Scenario.Stall, _ outcome: Outcome, then done: @escaping @Sendable () -> Void) {
        let length = UInt64(milliseconds) * 1_000_000
        switch stall {
        case .callout(let body):
            let meter = TruthMeter()
            let result = Result { try body(moment_now() + length) }
            let truth = meter.end()
            finish(outcome, result.map { _ in truth }, done)
        case .mainActor(let work):
            Task { @MainActor in
                let result: Result<Truth, any Error>
                do { result = .success(try await work(length)) } catch { result = .failure(error) }
                finish(outcome, result, done)
            }
        }
    }

    private func finish(_ outcome: Outcome, _ result: Result<Truth, any Error>, _ done: @escaping @Sendable () -> Void) {
        outcome.put(result)
        ObservedRunLoop.main.add(RunLoopTimer(after: Self.margin) { _ in done() }, to: .common)
    }
}

/// The result of the stall.
private final class Outcome: Sendable {
    private struct State {
        var result: Result<Truth, any Error>?
        /// The loop's last reading of the clock.
        var read: UInt64 = 0
        /// The loop's last reading when the result arrived, and its next reading.
        var seen: (before: UInt64, after: UInt64) = (0, 0)
    }

    private let state = Mutex(State())

    func put(_ new: Result<Truth, any Error>) {
        state.withLock {
            $0.result = new
            $0.seen = ($0.read, 0)
        }
    }

    func read(_ now: UInt64) {
        state.withLock {
            if $0.result != nil, $0.seen.after == 0 { $0.seen.after = now }
            $0.read = now
        }
    }

    func get() throws -> Truth? {
        try state.withLock { state in
            var truth = try state.result?.get()
            let (before, after) = state.seen
            if before > 0, after > 0 { truth?.longestMs = Double(after - before) / 1e6 }
            return truth
        }
    }
}
