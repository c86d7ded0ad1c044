import LagMonitor
import LagMonitorTestKit
import Synchronization
import TestSupport
import Testing

/// The articles' examples behave as described. With a real monitor: one at a time.
@Suite(.serialized) struct LibrarySnippetTests {
    @Test func `the test shown in the article passes`() throws {
        let kit = try TestMonitor()
        let health = HealthCheck(kit)
        kit.loop("main").work(for: .milliseconds(400))
        #expect(kit.waitForHandlers() && health.isHealthy)
        kit.loop("main").work(for: .seconds(2), ScriptedWork(.lock, in: ["Cache.load()"]))
        #expect(kit.waitForHandlers() && !health.isHealthy)
    }

    @Test func `the pump shown in the article can be watched`() throws {
        let thread = try KeepAliveThread(name: "pumping")
        pumping.withLock { $0 = thread }
        defer { pumping.withLock { $0 = nil } }
        let sink = MemorySink()
        let monitor = StallMonitor(sinks: [sink])
        try monitor.start()
        defer { monitor.stop() }
        var rules = StallRules.empty
        rules.ping = .init(interval: .milliseconds(40))
        let pump = Pump(thread: try thread.performAndWait { ThreadIdentity.current })
        try monitor.watch(pump, rules: rules)
        // Some pings are answered first.
        sleepForTheTest(milliseconds: 200)
        let search = StallSearch(monitor)
        thread.perform { repeat { sleepForTheTest(milliseconds: 400) } while !search.isOver }
        for _ in 0..<6000 where sink.lines.isEmpty { sleepForTheTest(milliseconds: 5) }
        #expect(sink.lines.count == 1)
        let line = sink.lines.first ?? ""
        #expect(line.contains(#""loop":"pump""#) && line.contains("LagAdapterTests.sleepForTheTest"), "\(line)")
    }
}
