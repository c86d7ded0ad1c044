internal import CLagBeacon
internal import CLagLinux
import Glibc
import Testing

@testable import LagDetection

/// The meter uses the real clock and the scheduler's own counts, so these tests sleep and compute; they assert only the order.
@Suite("Which waits of the watchdog are process pauses, and how often the scheduler is read")
struct PauseMeterTests {
    private static let milliseconds30: UInt64 = 30_000_000

    private func makeMeter() -> PauseMeter {
        var meter = PauseMeter(tid: cll_gettid(), log: PauseLog())
        // Creating it took time, which was not a wait.
        _ = meter.waitEnded(due: .max, answered: 0)
        return meter
    }

    @Test func `on-time waits and polls read the scheduler at most once per millisecond of lateness`() {
        var meter = makeMeter()
        let (asked, begun) = (meter.readings, meter.now)
        for _ in 0..<10_000 {
            _ = meter.waitEnded(due: meter.now, answered: 0)
            _ = meter.scanEnded(slept: 0, closely: false)
        }
        #expect(meter.readings - asked <= (meter.now - begun) / 1_000_000)
    }

    @Test func `a wait that ended early reads the scheduler at once, and is not a pause`() {
        var meter = makeMeter()
        let asked = meter.readings
        let isStopped = meter.waitEnded(due: meter.now + 1_000_000_000_000, answered: 0) != nil
        #expect(meter.readings == asked + 1 && !isStopped)
    }

    @Test func `time asleep after the deadline of a wait is a process pause, even after many waits on time`() throws {
        var meter = makeMeter()
        for _ in 0..<100 { _ = meter.waitEnded(due: meter.now, answered: 0) }
        let due = meter.now
        // In one sleep: on a busy machine every wake is a wait for a processor, which is not sleep.
        while clb_now_ns() < due + Self.milliseconds30 { usleep(30_000) }
        let ended = meter.waitEnded(due: due, answered: 0)
        let processPause = try #require(ended)
        // All except the unread time, and the time until this line.
        #expect(processPause.atLeast > Self.milliseconds30 / 2 && processPause.to - processPause.from >= Self.milliseconds30)
    }

    @Test func `time at work after the deadline of a wait is not a process pause`() {
        // Unless the machine is unavailable for as long, which the kernel may not count.
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
