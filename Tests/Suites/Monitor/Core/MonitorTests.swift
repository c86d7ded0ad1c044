import Dispatch
import LagMonitor
import TestSupport
import Testing

/// All tests that start a monitor: one at a time, because the process has only one engine.
@Suite(.serialized) struct MonitorTests {
    /// 40 ms × 3: well above the delays of an idle loop on a busy machine.
    static var configuration: StallMonitorConfiguration {
        var configuration = StallMonitorConfiguration()
        configuration.rules.callout = .init(interval: .milliseconds(40))
        return configuration
    }

    /// A started monitor on its own loop, with lines in memory.
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

        /// Stalls the loop until the watchdog has found it: on a busy machine, it comes too late for the stack of a short stall.
        func stallUntilFound() {
            let found = monitor.statistics.stalls + 1
            let end = DispatchSemaphore(value: 0)
            let injected = Injected(on: thread) { blockForTheTest(until: end) }
            #expect(eventually { monitor.statistics.stalls == found })
            end.signal()
            #expect(eventually { injected.isOver && thread.loop.beacon.activity == .waiting })
        }

        func end() {
            monitor.stop()
            thread.stop()
            thread.join()
        }
    }
}
