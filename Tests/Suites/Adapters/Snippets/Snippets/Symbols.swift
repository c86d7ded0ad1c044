// The code shown in the documentation comments, compiled: SnippetTests.swift compares the two.
import Dispatch
import Foundation
import LagMonitor
import LagMonitorConcurrency
import LagMonitorDelivery
import LagMonitorFoundation
import LagMonitorOTLP
import LagMonitorTestKit
import LagSymbols
import Synchronization
import Testing

#if Metrics && NIO && ServiceLifecycle && Logging
    import LagMonitorLifecycle
    import LagMonitorMetrics
    import LagMonitorNIO
    import Logging
    import NIOPosix
    import ServiceLifecycle
    import UnixSignals
#endif

struct SymbolSnippets {
    static func monitor() throws {
        let monitor = StallMonitor(sinks: [try FileSink(path: "stalls.jsonl")])
        try monitor.start()
        try monitor.watch(ObservedRunLoop.main)
    }

    static func rules(_ monitor: StallMonitor, _ loop: ObservedRunLoop) throws {
        var rules = StallRules()
        rules.callout = .init(interval: .milliseconds(20), timeouts: 3)
        rules.ping = .init(interval: .milliseconds(100), timeouts: 5)
        try monitor.watch(loop, rules: rules)
    }

    static func expectedBlocks(_ loop: ObservedRunLoop, _ database: Database) throws {
        try loop.expectingBlock { try database.open() }
    }

    static func keepAliveThread(writeIndex: @escaping @Sendable () -> Void) throws {
        let worker = try KeepAliveThread(name: "worker", priority: .utility)
        worker.perform { writeIndex() }
        worker.stop()
        worker.join()
    }

    static func ports(_ theirs: RunLoopPort, _ bytes: [UInt8]) {
        let mine = RunLoopPort { _, message in print(message.id) }
        ObservedRunLoop.current.add(mine, to: .default)
        theirs.send(id: 101, payload: bytes, replyTo: mine)
    }

    static func syncContexts(_ tenant: String, _ request: String) throws {
        func respond(to request: String) {}
        withStallContext(name: "GET /orders/:id", ["tenant": tenant]) {
            respond(to: request)
        }
        var configuration = StallMonitorConfiguration()
        configuration.contexts = .recorded
        try OpenTelemetryContexts.publish()
        try OpenTelemetryContexts.publish(serviceName: "shop")
        _ = configuration
    }

    static func contexts(_ tenant: String, _ request: String) async {
        func respondLater(to request: String) async {}
        await withStallContext(name: "GET /orders/:id", ["tenant": tenant]) {
            await respondLater(to: request)
        }
    }

    static func hostState(_ queue: [Int]) {
        var configuration = StallMonitorConfiguration()
        configuration.onStallBegin = StallBeginHook { stall in
            ["jobs_waiting": "\(queue.count)"]
        }
        _ = configuration
    }

    static func spool() throws {
        let stream = try StreamSink(.tcp(host: "127.0.0.1", port: 6000))
        let monitor = StallMonitor(sinks: [try SpooledSink(stream, SpoolSettings(folder: "/var/lib/shop"))])
        _ = monitor
    }

    static func pingedQueue() {
        let watched = PingedQueue(.main)
        watched.ping()
    }

    // swift-format-ignore
    static func formats() throws -> StallMonitor {
        StallMonitor(sinks: [try FileSink(path: "stalls.jsonl"), FormattedSink(try StreamSink(.tcp(host: "127.0.0.1", port: 6000)), .ecs)])
    }

    static func output() throws -> StallMonitor {
        let output = try OutputSettings("file:/var/log/shop/stalls.jsonl")
        let monitor = StallMonitor(sinks: [try output.makeSink()])
        return monitor
    }

    static func delivery() throws -> StallMonitor {
        Delivery.enable()
        let output = try OutputSettings("tcp:127.0.0.1:6000")
        let monitor = StallMonitor(sinks: [try output.makeSink()])
        return monitor
    }

    static func collector() throws -> StallMonitor {
        let monitor = StallMonitor(sinks: [try OTLPSink(endpoint: "http://127.0.0.1:4318")])
        return monitor
    }

    static func lines() -> StallMonitorConfiguration {
        LineSymbols.enable()
        var configuration = StallMonitorConfiguration()
        configuration.symbols = .lines
        return configuration
    }

    static func pools(_ monitor: StallMonitor) throws {
        let pools = try monitor.watchConcurrencyPool()
        for pool in pools { monitor.unwatch(pool) }
        try monitor.watch(DispatchThreads(), rules: .jobs)
    }

    static func executor(_ monitor: StallMonitor, loadAll: @Sendable () async -> Void) async throws {
        actor Store {
            private let executor: RunLoopExecutor
            nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
            init(on executor: RunLoopExecutor) { self.executor = executor }
        }
        let executor = try RunLoopExecutor(name: "store")
        try monitor.watch(executor.loop)
        await withTaskExecutorPreference(executor) { await loadAll() }
    }

    static func foundationLoop(_ monitor: StallMonitor) throws {
        let loop = FoundationLoop(RunLoop.main)
        try monitor.watch(loop)
        RunLoop.main.run()
    }

    static func logging() -> (StallMonitor) async -> Void {
        func logStalls(of monitor: StallMonitor) async {
            for await stall in monitor.stalls { print(stall.message) }
        }
        return logStalls
    }

    static func scriptedLoop(_ kit: TestMonitor) {
        let loop = kit.loop("main")
        loop.work(for: .milliseconds(400))
        loop.work(for: .milliseconds(20), times: 60)
        loop.work(for: .seconds(1), ScriptedWork(.lock, in: ["Cache.load()", "main"]))
    }

    static func sample() -> StallRecord {
        let record = StallRecord.sample(duration: .seconds(2), ScriptedWork(.lock, in: ["Cache.load()", "main"]))
        return record
    }

    #if Metrics && NIO && ServiceLifecycle && Logging
        static func service(_ monitor: StallMonitor, _ server: some Service, _ logger: Logger) async throws {
            let group = ServiceGroup(
                services: [StallMonitorService(monitor), server],
                gracefulShutdownSignals: [.sigterm],
                logger: logger
            )
            try await group.run()
        }

        static func report(_ monitor: StallMonitor, _ server: some Service, _ logger: Logger) {
            let group = ServiceGroup(
                services: [StallMonitorService(monitor), server, StallReportService(monitor)],
                gracefulShutdownSignals: [.sigterm],
                logger: logger
            )
            _ = group
        }

        static func nio(_ monitor: StallMonitor) throws {
            let loops = try monitor.watch(MultiThreadedEventLoopGroup.singleton, named: "http")
            monitor.unwatch(loops)
        }
    #endif

    @Test func `the test shown for the test monitor passes`() throws {
        let kit = try TestMonitor()
        let alerts = AlertBook(kit)
        kit.loop("main").work(for: .milliseconds(400), ScriptedWork(.lock))
        #expect(kit.waitForHandlers())
        #expect(alerts.titles == ["main: lock"])
    }

    /// The type that this test tests.
    private final class AlertBook: Sendable {
        private let lines = Mutex<[String]>([])

        init(_ stalls: some StallSource) {
            stalls.onStall(queue: DispatchQueue(label: "alerts")) { [weak self] record in
                self?.lines.withLock { $0.append("\(record.loop): \(record.cause.rawValue)") }
            }
        }

        var titles: [String] { lines.withLock { $0 } }
    }
}
