// The code shown in the article AdoptingInApplications.md, compiled: SnippetTests.swift compares the two.
import Dispatch
import Foundation
import LagMonitor
import LagMonitorConcurrency
import LagMonitorFoundation

#if NIO && ServiceLifecycle && Logging
    import LagMonitorLifecycle
    import LagMonitorNIO
    import Logging
    import NIOCore
    import NIOPosix
    import ServiceLifecycle
    import UnixSignals
#endif

enum ApplicationSnippets {
    static func runLoop() throws {
        let monitor = StallMonitor(sinks: [try FileSink(path: "/var/log/shop/stalls.jsonl")])
        try monitor.start()
        try monitor.watch(FoundationLoop(RunLoop.main))
        RunLoop.main.run()
    }

    static func ownLoop(_ monitor: StallMonitor, _ request: String, writeIndex: @escaping @Sendable () -> Void) throws {
        @Sendable func respond(to request: String) {}

        let worker = try KeepAliveThread(name: "index")
        try monitor.watch(worker.loop)
        worker.loop.add(RunLoopTimer(after: .seconds(1), interval: .seconds(60)) { _ in writeIndex() }, to: .common)
        worker.loop.perform { respond(to: request) }
    }

    static func asynchronous(serve: () async throws -> Void) async throws {
        let monitor = StallMonitor(sinks: [try DescriptorSink(descriptor: STDOUT_FILENO, name: "stdout")])
        try monitor.start()
        try monitor.watch(PingedQueue(.main), rules: .pings)
        try monitor.watchConcurrencyPool()
        try await serve()
        monitor.stop()
    }

    #if NIO && ServiceLifecycle && Logging
        static func services(_ monitor: StallMonitor, _ server: some Service, _ logger: Logger) async throws {
            let watching = StallMonitorService(monitor)
            let services = ServiceGroup(services: [watching, server], gracefulShutdownSignals: [.sigterm], logger: logger)
            try await services.run()
        }

        static func rules(_ monitor: StallMonitor, _ group: any EventLoopGroup) throws {
            var rules = StallRules.eventLoops
            rules.ping = .init(interval: .milliseconds(10), timeouts: 2)
            try monitor.watch(group, named: "http", rules: rules)
        }
    #endif

    static func requests(_ request: String) throws {
        func respond(to request: String) {}

        var configuration = StallMonitorConfiguration()
        configuration.contexts = .recorded
        let monitor = StallMonitor(configuration: configuration, sinks: [try FileSink(path: "/var/log/shop/stalls.jsonl")])
        try monitor.start()
        withStallContext(name: "GET /orders/:id") { respond(to: request) }
    }

    static func expected(_ monitor: StallMonitor, _ queue: PingedQueue) {
        StallMonitor.expectingBlock { migrateDatabase() }
        monitor.pause(queue)
        migrateDatabase()
        monitor.resume(queue)
    }
}
