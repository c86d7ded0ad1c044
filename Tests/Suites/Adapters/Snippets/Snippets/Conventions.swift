// The code shown in the article Conventions.md, compiled: SnippetTests.swift compares the two.
import Dispatch
import LagMonitor
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

    #if Logging && Metrics
        static func logsAndMetrics(_ monitor: StallMonitor) {
            monitor.logStalls(to: Logger(label: "stalls"))
            let metrics = StallMetrics(of: monitor)
            withExtendedLifetime(metrics) {}
        }
    #endif

    #if Configuration && ServiceLifecycle
        static func service(_ path: String) throws -> StallMonitorService {
            let config = ConfigReader(provider: EnvironmentVariablesProvider())
            let configuration = try StallMonitorConfiguration(config: config.scoped(to: "lagmonitor"))
            let monitor = StallMonitor(configuration: configuration, sinks: [try FileSink(path: path)])
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
