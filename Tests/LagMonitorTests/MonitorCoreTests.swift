import LagDetection
import LagReport
import Testing

@testable import LagMonitor

@Suite struct MonitorCoreTests {
    /// No record comes after the loss, so nothing but the end can tell it.
    @Test func recordsDroppedLastAreToldAtTheEnd() throws {
        let sink = MemorySink(name: "memory")
        let core = MonitorCore(configuration: LagMonitorConfiguration(), sinks: [sink])
        try core.open()
        core.absorb(WatchCounters(dropped: 3))
        core.close(announcing: true)
        let line = try #require(sink.lines.first)
        #expect(sink.lines.count == 1)
        #expect(line.contains(#""event":"dropped""#))
        #expect(line.contains(#""dropped":3"#))
        #expect(core.statistics(of: core.absorbed).dropped == 3, "and counted once")
    }
}
