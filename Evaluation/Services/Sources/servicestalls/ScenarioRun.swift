internal import Dispatch
internal import Foundation
internal import Hummingbird
internal import LagMonitor
internal import LagMonitorConcurrency
internal import LagMonitorNIO
internal import NIOPosix

/// One scenario in a program that is watched as by users: with the default rules and recorded contexts.
struct ScenarioRun: Sendable {
    let scenario: Scenario

    /// Idle time before and after the stall.
    private static let margin: Duration = .milliseconds(250)
    /// If the process has not stalled by this time, the run has failed.
    private static let limit: Duration = .seconds(15)
    /// How long the program continues to run for its record, like a server.
    private static let patience: Duration = .seconds(3)
    /// Long stacks must be complete.
    private static let maxLineBytes = 65_536

    /// Runs on the main thread; records go to stdout.
    func execute() throws {
        var configuration = StallMonitorConfiguration()
        configuration.contexts = .recorded
        configuration.maxLineBytes = Self.maxLineBytes
        let sink = try DescriptorSink(descriptor: STDOUT_FILENO, name: "stdout")
        let monitor = StallMonitor(configuration: configuration, sinks: [sink])
        _ = ScratchFolder.path
        try monitor.start()
        try monitor.watchConcurrencyPool()
        switch scenario.host {
        case .runLoop:
            try monitor.watch(ObservedRunLoop.main)
            try monitor.watch(Loops.group, named: "nio")
            Thread.detachNewThread { conduct(monitor) }
            ObservedRunLoop.main.run()
        case .mainQueue:
            // The same interval as for a run loop, because by default queues are pinged less often.
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

    /// Runs on a separate thread.
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
        guard let truth = StalledTime.truth(within: Self.limit) else { fail("no thread stalled") }
        Self.pause(Self.margin)
        let end = ContinuousClock.now + Self.patience
        // If other processes use the processors, the monitor may find a stall only after its end.
        while monitor.statistics.reported < max(before + 1, monitor.statistics.stalls), ContinuousClock.now < end {
            usleep(10_000)
        }
        monitor.stop()
        do {
            try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(ChildReport.measured(truth)) + Data("\n".utf8))
        } catch { fail("\(error)") }
        ScratchFolder.remove()
        // Servers and clients never end.
        _exit(EXIT_SUCCESS)
    }

    /// Exits without a report, which `lagdiagnosis` counts as missed.
    private func fail(_ reason: String) -> Never {
        FileHandle.standardError.write(Data("servicestalls: \(scenario.name): \(reason)\n".utf8))
        ScratchFolder.remove()
        _exit(EXIT_FAILURE)
    }

    private static func pause(_ time: Duration) { usleep(UInt32(time / .microseconds(1))) }
}
