internal import Dispatch
internal import Foundation
internal import Hummingbird
internal import LagMonitor
internal import LagMonitorConcurrency
internal import LagMonitorNIO
internal import NIOPosix

/// One scenario in a program that is watched as its users would: by the default rules, contexts recorded, nothing else set.
struct ScenarioRun: Sendable {
    let scenario: Scenario

    /// Before the stall and after it: time to be idle in.
    private static let margin: Duration = .milliseconds(250)
    /// A process without a stall by then is wrong.
    private static let limit: Duration = .seconds(15)
    /// How long the program lives on for its record, as a server does.
    private static let patience: Duration = .seconds(3)
    /// Long stacks must be complete.
    private static let maxLineBytes = 65_536

    /// On the main thread; records go to stdout.
    func execute() throws {
        var configuration = StallMonitorConfiguration()
        configuration.contexts = .recorded
        configuration.maxLineBytes = Self.maxLineBytes
        let sink = try DescriptorSink(descriptor: STDOUT_FILENO, name: "stdout")
        let monitor = StallMonitor(configuration: configuration, sinks: [sink])
        try monitor.start()
        try monitor.watchConcurrencyPool()
        switch scenario.host {
        case .runLoop:
            try monitor.watch(ObservedRunLoop.main)
            try monitor.watch(Loops.group, named: "nio")
            Thread.detachNewThread { conduct(monitor) }
            ObservedRunLoop.main.run()
        case .mainQueue:
            // The same interval as for a run loop; by default queues are pinged less often.
            var rules = StallRules.pings
            rules.ping = .init()
            try monitor.watch(PingedQueue(.main), rules: rules)
            try monitor.watch(PingedQueue(QueueExecutor.jobs.queue), rules: rules)
            try monitor.watch(Executors.store.loop)
            try monitor.watch(MultiThreadedEventLoopGroup.singleton)
            let server = try OrderService.application()
            Task { try await server.runService(gracefulShutdownSignals: []) }
            Thread.detachNewThread {
                OrderService.waitUntilOpen()
                conduct(monitor)
            }
            dispatchMain()
        }
    }

    /// On a thread that nothing else runs on.
    private func conduct(_ monitor: StallMonitor) -> Never {
        Self.pause(Self.margin)
        let before = monitor.statistics.reported
        switch scenario.work {
        case .callout(let body):
            DispatchQueue.main.async {
                MainActor.assumeIsolated {
                    StalledTime.begin()
                    let result = Result { try body() }
                    StalledTime.end()
                    switch result {
                    case .success(let value): keep(value)
                    case .failure(let error): fail("\(error)")
                    }
                }
            }
        case .service(let begin): Task.detached { try await begin() }
        }
        guard let truth = StalledTime.truth(within: Self.limit) else { fail("it did not stall") }
        Self.pause(Self.margin)
        let end = ContinuousClock.now + Self.patience
        // If other processes use the processors, a stall may not be known yet when it is over.
        while monitor.statistics.reported < max(before + 1, monitor.statistics.stalls), ContinuousClock.now < end {
            usleep(10_000)
        }
        monitor.stop()
        do {
            try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(ChildReport.measured(truth)) + Data("\n".utf8))
        } catch { fail("\(error)") }
        // Servers and clients have no end.
        _exit(EXIT_SUCCESS)
    }

    /// Without a report: `lagdiagnosis` counts it as missed.
    private func fail(_ reason: String) -> Never {
        FileHandle.standardError.write(Data("servicestalls: \(scenario.name): \(reason)\n".utf8))
        _exit(EXIT_FAILURE)
    }

    private static func pause(_ time: Duration) { usleep(UInt32(time / .microseconds(1))) }
}
