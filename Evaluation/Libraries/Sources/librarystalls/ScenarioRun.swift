internal import CLibraryStalls
internal import Foundation
internal import LagMonitor
internal import Synchronization

/// One scenario on the main thread's run loop, watched by the default rules, at the priority that every program has.
struct ScenarioRun: Sendable {
    let scenario: Scenario
    let milliseconds: Int

    /// Before the stall and after it: time to be idle in.
    private static let margin: Duration = .milliseconds(100)
    /// Long stacks are to be seen whole.
    private static let maxLineBytes = 65_536
    /// Twice what the default rules report at: below it the machine was too fast for the scenario.
    private static let leastDurationMs = 300.0

    /// On the main thread; records go to stdout.
    func execute() throws -> ChildReport {
        let body = try scenario.prepare()
        var configuration = StallMonitorConfiguration()
        configuration.maxLineBytes = Self.maxLineBytes
        let sink = try DescriptorSink(descriptor: STDOUT_FILENO, name: "stdout")
        let monitor = StallMonitor(configuration: configuration, sinks: [sink])
        try monitor.start()
        let loop = ObservedRunLoop.main
        try monitor.watch(loop)
        let outcome = Mutex<Result<Truth, any Error>?>(nil)
        loop.add(
            RunLoopTimer(after: Self.margin) { _ in
                let meter = TruthMeter()
                let result = Result { try body(moment_now() + UInt64(milliseconds) * 1_000_000) }
                let truth = meter.end()
                withExtendedLifetime(result) {}
                outcome.withLock { $0 = result.map { _ in truth } }
                let loop = ObservedRunLoop.main
                loop.add(RunLoopTimer(after: Self.margin) { _ in loop.stop() }, to: .common)
            },
            to: .common
        )
        loop.run()
        monitor.stop()
        guard let truth = try outcome.withLock({ $0 })?.get() else { return .skipped("the loop ended before the stall") }
        let figures = "\(Int(truth.cpuMs)) of \(Int(truth.durationMs)) ms computed"
        if truth.durationMs < Self.leastDurationMs { return .skipped("this machine is too fast for it: \(figures)") }
        if scenario.mustBlock, truth.cpuMs > truth.durationMs / 2 { return .skipped("it is not waited for here: \(figures)") }
        return .measured(truth)
    }
}
