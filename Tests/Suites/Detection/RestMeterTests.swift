internal import LagActivity
import Testing

@testable import LagDetection

/// Since when a loop has not rested, from its waits and the kernel's count of its thread's sleeps.
struct RestMeterTests {
    private let start: UInt64 = 1000 * millisecond

    private func work(_ sequence: UInt64, at time: UInt64) -> BeaconReading {
        BeaconReading(sequence, .afterWaiting, at: time, woke: time)
    }

    private func wait(_ sequence: UInt64) -> BeaconReading { BeaconReading(sequence, .waiting, at: start, woke: start) }

    /// A loop that was seen asleep, after five sleeps.
    private func rested(_ waits: PublishedWaits) -> RestMeter {
        var meter = RestMeter()
        #expect(meter.observe(wait(2), sleeps: 5, hasMoved: false, waits: waits, at: start) == BusyTime(since: 0))
        return meter
    }

    @Test func `waits without a sleep are turns, not rests`() {
        var meter = rested(.turns)
        for turn in 0..<100 as Range<UInt64> {
            let now = start + (turn + 1) * 20 * millisecond
            let expected = BusyTime(since: start + 20 * millisecond, turns: turn + 1)
            #expect(meter.observe(work(3 + 2 * turn, at: now), sleeps: 5, hasMoved: false, waits: .turns, at: now) == expected)
            // Seen in its wait, which it leaves at once.
            #expect(meter.observe(wait(4 + 2 * turn), sleeps: 5, hasMoved: true, waits: .turns, at: now + 1) == expected)
        }
        #expect(meter.isAwake(sleeps: 5) && !meter.isAwake(sleeps: 6) && !meter.isAwake(sleeps: nil))
    }

    @Test func `after a sleep the time awake restarts with the next turn`() {
        var meter = rested(.turns)
        let (first, second) = (start + 20 * millisecond, start + 60 * millisecond)
        _ = meter.observe(work(3, at: first), sleeps: 5, hasMoved: false, waits: .turns, at: first)
        let found = meter.observe(work(7, at: second), sleeps: 6, hasMoved: false, waits: .turns, at: second + 5)
        #expect(found == BusyTime(since: second, turns: 1))
    }

    /// The counted sleep may be the current one: if it continues, nothing else would show it.
    @Test func `a loop that moved while its sleeps were read is not known to be awake`() {
        var meter = rested(.turns)
        let first = start + 20 * millisecond
        #expect(meter.observe(work(3, at: first), sleeps: 6, hasMoved: true, waits: .turns, at: first).since == 0)
        #expect(meter.observe(wait(4), sleeps: 6, hasMoved: false, waits: .turns, at: first + 50 * millisecond).since == 0)
    }

    @Test func `a stop caused by a capture is not a sleep`() {
        var meter = rested(.turns)
        let (first, second) = (start + 20 * millisecond, start + 60 * millisecond)
        _ = meter.observe(work(3, at: first), sleeps: 5, hasMoved: false, waits: .turns, at: first)
        meter.pass(overStopAt: 6)
        #expect(meter.observe(work(7, at: second), sleeps: 6, hasMoved: false, waits: .turns, at: second).since == first)
    }

    @Test func `a sleep in the wait is a rest`() {
        var meter = rested(.turns)
        let first = start + 20 * millisecond
        #expect(meter.observe(work(3, at: first), sleeps: 5, hasMoved: false, waits: .turns, at: first).since == first)
        #expect(meter.observe(wait(4), sleeps: 6, hasMoved: false, waits: .turns, at: first + 50 * millisecond).since == 0)
        #expect(!meter.isAwake(sleeps: 6))
    }

    @Test(arguments: [PublishedWaits.turns, .samples]) func `an unknown state counts as a rest`(waits: PublishedWaits) {
        var meter = rested(waits)
        let now = start + 20 * millisecond
        #expect(meter.observe(work(3, at: now), sleeps: nil, hasMoved: false, waits: waits, at: now).since == 0)
        // Quiet elsewhere, according to the examination.
        let quiet = work(5, at: now).atRest
        #expect(meter.observe(quiet, sleeps: 5, hasMoved: false, waits: waits, at: now).since == 0)
        let ended = BeaconReading(6, .finished, at: now, woke: now)
        #expect(meter.observe(ended, sleeps: 5, hasMoved: false, waits: waits, at: now).since == 0)
    }

    @Test func `a sample that finds the loop asleep is a rest, and turns are not counted`() {
        var meter = rested(.samples)
        let first = start + 20 * millisecond
        // It was awake since that sample: the sleep that ended was counted when it began.
        #expect(
            meter.observe(work(3, at: first - 5), sleeps: 5, hasMoved: false, waits: .samples, at: first)
                == BusyTime(since: first - 5)
        )
        #expect(meter.observe(wait(4), sleeps: 5, hasMoved: false, waits: .samples, at: first + 10 * millisecond).since == 0)
    }

    /// Between two samples, a loop may rest unseen.
    @Test func `after an unseen sleep, time counts from when the sleep is known to be over`() {
        var meter = rested(.samples)
        let first = start + 20 * millisecond
        for sample in 0..<100 as Range<UInt64> {
            let now = first + sample * 10 * millisecond
            let found = meter.observe(work(3, at: first), sleeps: 6 + sample, hasMoved: false, waits: .samples, at: now)
            #expect(found == BusyTime(since: now))
        }
    }
}
