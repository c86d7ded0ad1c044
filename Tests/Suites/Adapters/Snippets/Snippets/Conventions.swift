// The code shown in the article Conventions.md, compiled: SnippetTests.swift compares the two.
import Dispatch
import LagMonitor
import LagMonitorDelivery
import LagMonitorOTLP
import LagMonitorTestKit
import Synchronization
import Testing

#if Logging && Metrics
    import LagMonitorLogging
    import LagMonitorMetrics
    import Logging
#endif
#if Configuration && ServiceLifecycle
    import Configuration
    import LagMonitorConfiguration
    import LagMonitorLifecycle
#endif

enum ConventionsSnippets {
    static func activate() {
        StallMonitor.startFromEnvironment()
    }

    static func activateWithAQueue() {
        StallMonitor.startFromEnvironment(watching: [PingedQueue(.main)])
    }

    static func sinks() throws -> [any RecordSink] {
        let sinks: [any RecordSink] = [
            try FileSink(path: "/var/log/shop/stalls.jsonl", rotation: .init(maxBytes: 10_000_000)),
            FormattedSink(try FileSink(path: "/var/log/shop/stalls.ecs"), .ecs),
            try JournalSink(),
            try OTLPSink(endpoint: "http://collector:4318"),
            try SpooledSink(StreamSink(.unix(path: "/run/vector.sock")), .init(folder: "/var/lib/shop/stalls")),
        ]
        return sinks
    }

    #if Logging && Metrics
        static func logsAndMetrics(_ monitor: StallMonitor) {
            monitor.logStalls(to: Logger(label: "stalls"))
            let metrics = StallMetrics(of: monitor)
            withExtendedLifetime(metrics) {}
        }
    #endif

    #if Configuration && ServiceLifecycle
        static func service() throws -> StallMonitorService {
            let config = ConfigReader(provider: EnvironmentVariablesProvider()).scoped(to: "lagmonitor")
            let configuration = try StallMonitorConfiguration(config: config)
            let sinks = try OutputSettings(config: config).map { [try $0.makeSink()] } ?? []
            let monitor = StallMonitor(configuration: configuration, sinks: sinks)
            let service = StallMonitorService(monitor, watching: [ObservedRunLoop.main])
            return service
        }
    #endif
}

final class Alerts: Sendable {
    let lines = Mutex<[String]>([])

    init(_ stalls: some StallSource) {
        stalls.onStall(queue: DispatchQueue(label: "alerts")) { record in
            self.lines.withLock { $0.append("\(record.loop): \(record.cause.rawValue)") }
        }
    }
}

@Test func `the test of the article passes`() throws {
    let kit = try TestMonitor()
    let alerts = Alerts(kit)
    kit.loop("main").work(for: .milliseconds(400), ScriptedWork(.lock, in: ["Cache.load()", "main"]))
    #expect(kit.waitForHandlers())
    #expect(alerts.lines.withLock { $0 } == ["main: lock"])
    #expect(kit.records.first?.culprit == "Cache.load()")
}
