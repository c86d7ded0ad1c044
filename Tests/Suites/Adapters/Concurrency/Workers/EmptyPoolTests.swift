internal import CLagLinux
internal import LagActivity
import LagMonitor
import Synchronization
import TestSupport
import Testing

@testable import LagMonitorConcurrency

/// A pool that has no threads yet.
struct EmptyPoolTests {
    private final class EmptyPool: NamedPool {
        let name = "empty"
        let beacon = ActivityBeacon()
        let thread = ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0)
        let publishesActivity = false
        let threadName = cll_name()
        /// How often its threads were searched for.
        let searches = Atomic<Int>(0)

        var jobs: JobSource? {
            var slots = cll_job_slots()
            slots.task = 8
            return JobSource(.tasks, slots: slots)
        }

        func findThreads(_ tids: UnsafeMutableBufferPointer<Int32>) -> Int {
            searches.add(1, ordering: .relaxed)
            return 0
        }
    }

    @Test func `the threads of a pool are searched for even if only the pool is watched`() throws {
        let monitor = StallMonitor()
        try monitor.start()
        defer { monitor.stop() }
        let pool = EmptyPool()
        try monitor.watch(pool, rules: .jobs)
        // Once by this thread; then samples find that threads were created since the last search, because there was none.
        #expect(eventually { pool.searches.load(ordering: .relaxed) > 1 })
    }
}
