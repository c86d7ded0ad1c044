internal import CLagLinux
import LagMonitor
import TestSupport
import Testing

@testable import LagMonitorConcurrency

struct PoolTests {
    /// The pools of the test run must stay free: `MonitorProbe pools` blocks those of a process of its own.
    @Test func `blocked and busy pools are found with all their threads`() throws {
        let outcome = try ProbeOutcome(of: "MonitorProbe", ["pools"])
        #expect(outcome.isFine, "\(outcome.text)")
    }

    @Test(arguments: [
        (TaskPriority.background, "pool.background", ".background-qos"),
        (.low, "pool.low", "oot.utility-qos"),
        (.medium, "pool.medium", "oot.default-qos"),
        (.high, "pool.high", "r-initiated-qos"),
        (TaskPriority(rawValue: 0), "pool.medium", "oot.default-qos"),
        (TaskPriority(rawValue: 10), "pool.low", "oot.utility-qos"),
        (TaskPriority(rawValue: 33), "pool.interactive", "-interactive-qos"),
        (TaskPriority(rawValue: 255), "pool.interactive", "-interactive-qos"),
    ])
    func `a pool has its name and its threads`(_ priority: TaskPriority, _ name: String, _ thread: String) {
        #expect(ConcurrencyPool(priority).name == name)
        let text = QualityOfService(priority).threadName.text
        #expect(withUnsafeBytes(of: text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) } == thread.suffix(15))
        #expect(ConcurrencyPool(priority, named: "mine").name == "mine")
    }

    @Test func `a monitor that does not run watches no loop`() {
        #expect(throws: StallMonitorError.notRunning) { try StallMonitor().watchConcurrencyPool() }
    }

    @Test func `a thread of the pool is found while it works`() async {
        let pool = ConcurrencyPool(.low)
        let own = await Task.detached(priority: .low) { ThreadIdentity.current.tid }.value
        #expect(own > 0 && pool.workFunction != 0)
        let isFound = await Task.detached(priority: .low) {
            withUnsafeTemporaryAllocation(of: Int32.self, capacity: 64) { tids in
                tids.prefix(pool.findWorkers(tids)).contains(ThreadIdentity.current.tid)
            }
        }.value
        #expect(isFound)
    }

    @Test func `a block that is expected on one of its threads is the pool's`() async {
        let (pool, other) = (ConcurrencyPool(.low), ConcurrencyPool(.background))
        let inside = await Task.detached(priority: .low) {
            StallMonitor.expectingBlock { [pool.beacon.activity, other.beacon.activity] }
        }.value
        #expect(inside == [.expected, .notRunning])
        #expect(pool.beacon.activity == .waiting)
    }
}
