internal import CLagLinux
internal import LagActivity
import LagMonitor
import TestSupport
import Testing

@testable import LagMonitorConcurrency

struct PoolTests {
    /// The pools of the test run must stay free: `MonitorProbe pools` blocks those of a separate process.
    @Test func `blocked and busy pools are found with all their threads`() throws {
        let outcome = try ProbeOutcome(of: "MonitorProbe", ["pools"])
        #expect(outcome.isFine, "\(outcome.text)")
    }

    /// The same for a single thread: blocked, computing, waiting for a lock, on an actor, on a private queue; and work that
    /// releases its thread.
    @Test func `a job that occupies its thread is found while other threads are free`() throws {
        let outcome = try ProbeOutcome(of: "MonitorProbe", ["jobs"])
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

    @Test func `rules that pools do not support are refused at once`() throws {
        #expect(throws: StallMonitorError.self) { try StallMonitor().watchConcurrencyPool(rules: .empty) }
        let monitor = StallMonitor()
        try monitor.start()
        defer { monitor.stop() }
        #expect(throws: StallMonitorError.self) { try monitor.watchConcurrencyPool(rules: StallRules()) }
    }

    @Test func `the job that a thread runs is read from outside`() async throws {
        let jobs = try #require(ConcurrencyPool(.low).jobs)
        let (own, found) = await Task.detached(priority: .low) {
            let thread = JobThread(tid: ThreadIdentity.current.tid)
            return (thread, thread.flatMap { jobs.job(of: $0) })
        }.value
        #expect(own != nil && (found ?? 0) != 0)
        let other = await Task.detached(priority: .low) {
            JobThread(tid: ThreadIdentity.current.tid).flatMap { jobs.job(of: $0) }
        }.value
        #expect(other != found)
        // No task runs here.
        let loop = try KeepAliveThread(name: "no-task")
        let thread = try #require(JobThread(tid: loop.loop.thread.tid))
        #expect(jobs.job(of: thread) == 0)
        loop.stop()
        loop.join()
        #expect(jobs.job(of: thread) == nil)
    }

    @Test func `expected blocks are recorded by thread`() {
        let tid = ThreadIdentity.current.tid
        #expect(!ExpectedBlocks.contains(tid))
        StallMonitor.expectingBlock {
            StallMonitor.expectingBlock {}
            #expect(ExpectedBlocks.contains(tid))
        }
        #expect(!ExpectedBlocks.contains(tid))
    }

    @Test func `a working thread of the pool is found`() async {
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

    @Test func `an expected block on a thread of the pool belongs to the pool`() async {
        let (pool, other) = (ConcurrencyPool(.low), ConcurrencyPool(.background))
        let inside = await Task.detached(priority: .low) {
            StallMonitor.expectingBlock { [pool.beacon.activity, other.beacon.activity] }
        }.value
        #expect(inside == [.expected, .notRunning])
        #expect(pool.beacon.activity == .waiting)
    }
}
