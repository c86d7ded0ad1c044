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

        /// Stalls the loop at least for this long, until `isNoticed`, and waits until it sleeps again.
        @discardableResult
        func stall(milliseconds: Int = 250, until isNoticed: @escaping @Sendable () -> Bool = { true }) -> Injected {
            // Only protects against a hang.
            let deadline = MonotonicTime.now + .seconds(20)
            let injected = Injected(on: thread) {
                repeat { blockForTheTest(milliseconds: milliseconds) } while !isNoticed() && MonotonicTime.now < deadline
            }
            #expect(eventually { injected.isOver && thread.loop.beacon.activity == .waiting })
            return injected
        }

        /// Stalls the loop until the watchdog has found it: on a busy machine, it comes too late for the stack of a short stall.
        @discardableResult
        func stallUntilFound(milliseconds: Int = 250) -> Injected {
            let search = StallSearch(monitor)
            return stall(milliseconds: milliseconds) { search.isOver }
        }

        /// Stalls the loop until the sink has so many records: a hang is reported only while it lasts.
        @discardableResult
        func stall(milliseconds: Int, untilRecords count: Int) -> Injected {
            stall(milliseconds: milliseconds) { [sink] in sink.records.count >= count }
        }

        func end() {
            monitor.stop()
            thread.stop()
            thread.join()
        }
    }
}
