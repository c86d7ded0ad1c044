internal import CLagBeacon
internal import CLagLinux
import Glibc
import Testing

@testable import LagDetection

/// The meter follows the real clock and the scheduler's own account, so these sleep and compute; they assert on order alone.
@Suite("Which waits of the watchdog report of a stop, and how often the scheduler is asked")
struct PauseMeterTests {
    private static let milliseconds30: UInt64 = 30_000_000

    private func makeMeter() -> PauseMeter {
        var meter = PauseMeter(tid: cll_gettid(), log: PauseLog())
        // Making it took a while, which was nobody's wait.
        _ = meter.waitEnded(due: .max, answered: 0)
        return meter
    }

    @Test func `waits and polls on time ask the scheduler once in a millisecond of lateness at most`() {
        var meter = makeMeter()
        let (asked, begun) = (meter.readings, meter.now)
        for _ in 0..<10_000 {
            _ = meter.waitEnded(due: meter.now, answered: 0)
            _ = meter.scanEnded(slept: 0, closely: false)
        }
        #expect(meter.readings - asked <= (meter.now - begun) / 1_000_000)
    }

    @Test func `a wait that ended before its time asks at once: what the scheduler counted in it, the clock does not report`() {
        var meter = makeMeter()
        let asked = meter.readings
        let isStopped = meter.waitEnded(due: meter.now + 1_000_000_000_000, answered: 0) != nil
        #expect(meter.readings == asked + 1 && !isStopped)
    }

    @Test func `time asleep after the wait was due is a stop; however many were on time before`() throws {
        var meter = makeMeter()
        for _ in 0..<100 { _ = meter.waitEnded(due: meter.now, answered: 0) }
        let due = meter.now
        // In one go: on a busy machine every wake is a wait for a processor, which is no sleep.
        while clb_now_ns() < due + Self.milliseconds30 { usleep(30_000) }
        let ended = meter.waitEnded(due: due, answered: 0)
        let processPause = try #require(ended)
        // All but what was unread, and what it took to come here.
        #expect(processPause.atLeast > Self.milliseconds30 / 2 && processPause.to - processPause.from >= Self.milliseconds30)
    }

    @Test func `time at work after the wait was due is no stop`() {
        // Unless the machine is taken away for as long, which the kernel may not count.
        let isReported = (0..<5).contains { _ in
            var meter = makeMeter()
            let due = meter.now
            while clb_now_ns() < due + Self.milliseconds30 {}
            let processPause = meter.waitEnded(due: due, answered: 0)
            return processPause == nil
        }
        #expect(isReported)
    }
}
