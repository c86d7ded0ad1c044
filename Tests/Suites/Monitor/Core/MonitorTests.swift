import LagMonitor
import TestSupport
import Testing

/// Everything that starts a monitor: one at a time, because the engine is one for the process.
@Suite(.serialized) struct MonitorTests {
    /// 40 ms × 3: well above what a busy machine does to an idle loop.
    static var configuration: StallMonitorConfiguration {
        var configuration = StallMonitorConfiguration()
        configuration.rules.callout = .init(interval: .milliseconds(40))
        return configuration
    }

    /// A started monitor on a loop of its own, with lines in memory.
    struct Watched {
        let sink = MemorySink()
        let monitor: StallMonitor
        let thread: KeepAliveThread

        init(_ configuration: StallMonitorConfiguration = MonitorTests.configuration, name: String = "worker") throws {
            monitor = StallMonitor(configuration: configuration, sinks: [sink])
            thread = try KeepAliveThread(name: name)
            try monitor.start()
            try monitor.watch(thread.loop)
        }

        /// Stalls the loop and waits until it sleeps again.
        @discardableResult
        func stall(milliseconds: Int = 250) -> Injected {
            let injected = Injected(on: thread) { blockForTheTest(milliseconds: milliseconds) }
            #expect(eventually { injected.isOver && thread.loop.beacon.activity == .waiting })
            return injected
        }

        func end() {
            monitor.stop()
            thread.stop()
            thread.join()
        }
    }
}
