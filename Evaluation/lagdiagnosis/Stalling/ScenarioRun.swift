internal import Glibc
internal import LagMonitor
internal import StallFixtures
internal import Synchronization

/// One scenario on the main thread's run loop, watched by the default rules.
struct ScenarioRun: Sendable {
    let scenario: Scenario
    /// The requested duration of the stall.
    let length: Duration
    let group: String?

    /// Idle time before and after the stall.
    private static let margin: Duration = .milliseconds(100)
    /// The time of the hang's record, if only the parent ends the stall.
    private static let hangAfter: Duration = .milliseconds(400)
    /// Long stacks must be complete.
    private static let maxLineBytes = 65_536

    /// Runs on the main thread; records go to stdout.
    /// - Throws: ``Unavailable`` when the machine does not permit the scenario.
    func execute() throws -> Truth {
        if let group { try enter(group) }
        let stall = try scenario.prepare()
        var configuration = StallMonitorConfiguration()
        configuration.maxLineBytes = Self.maxLineBytes
        if scenario.ending == .byParent { configuration.hangAfter = Self.hangAfter }
        let sink = try DescriptorSink(descriptor: STDOUT_FILENO, name: "stdout")
        let monitor = StallMonitor(configuration: configuration, sinks: [sink])
        // The monitor's threads get priority, because its behaviour on a busy machine is measured elsewhere.
        corpus_prefer_thread(2)
        try monitor.start()
        let loop = ObservedRunLoop.main
        try monitor.watch(loop)
        corpus_prefer_thread(scenario.needsOwnProcessor ? 1 : 0)

        let outcome = Outcome()
        loop.add(RunLoopTimer(after: Self.margin) { _ in begin(stall, outcome) }, to: .common)
        loop.run()
        monitor.stop()
        TemporaryPaths.clear()
        return try outcome.get()
    }

    private func begin(_ stall: Scenario.Stall, _ outcome: Outcome) {
        switch stall {
        case .callout(let body):
            let meter = TruthMeter()
            let result = Result { try body(.now + length) }
            finish(outcome, result.map { ($0, meter.end()) })
        case .mainActor(let body):
            Task { @MainActor in
                let meter = TruthMeter()
                let value = await body(.now + length)
                finish(outcome, .success((value, meter.end())))
            }
        }
    }

    private func finish(_ outcome: Outcome, _ result: Result<(Int, Truth), any Error>) {
        outcome.put(result)
        let loop = ObservedRunLoop.main
        loop.add(RunLoopTimer(after: Self.margin) { _ in loop.stop() }, to: .common)
    }

    private func enter(_ group: String) throws {
        let descriptor = open("\(group)/cgroup.procs", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Unavailable("open \(group)/cgroup.procs", errno: errno) }
        defer { close(descriptor) }
        let pid = "\(getpid())"
        guard write(descriptor, pid, pid.utf8.count) == pid.utf8.count else {
            throw Unavailable("entering \(group)", errno: errno)
        }
    }
}

/// The result of the stall's body. It is not used, but the optimiser cannot know that.
private final class Outcome: Sendable {
    private let result = Mutex<Result<(Int, Truth), any Error>?>(nil)

    func put(_ new: Result<(Int, Truth), any Error>) { result.withLock { $0 = new } }

    func get() throws -> Truth {
        guard let result = result.withLock({ $0 }) else { throw DiagnosisFailure("the loop ended before the stall") }
        return try result.get().1
    }
}
