import Testing

@testable import LagDetection

struct ThrottleHistoryTests {
    private func reading(_ milliseconds: UInt64, _ throttled: UInt64, groups: UInt64 = 0) -> ThrottleReading {
        ThrottleReading(
            time: milliseconds * millisecond,
            throttledNanoseconds: throttled * millisecond,
            groups: groups
        )
    }

    private func history(_ readings: ThrottleReading...) -> ThrottleHistory {
        var history = ThrottleHistory()
        for reading in readings { _ = history.add(reading) }
        return history
    }

    @Test func `throttled time grows from the last reading before the beginning`() {
        let history = history(reading(100, 10), reading(1100, 40))
        // Before, at, and just before the last reading.
        #expect(history.growth(since: 1200 * millisecond, to: reading(1500, 100)) == 60 * millisecond)
        #expect(history.growth(since: 1100 * millisecond - 50_000, to: reading(1500, 100)) == 60 * millisecond)
        #expect(history.growth(since: 1050 * millisecond, to: reading(1500, 100)) == 90 * millisecond)
        // Neither reading is before it: the earlier one is used.
        #expect(history.growth(since: 50 * millisecond, to: reading(1500, 100)) == 90 * millisecond)
    }

    @Test func `without an earlier reading the growth is unknown`() {
        #expect(ThrottleHistory().growth(since: 0, to: reading(10, 5)) == nil)
        #expect(history(reading(100, 10)).growth(since: 0, to: reading(200, 30)) == 20 * millisecond)
    }

    @Test func `readings of different groups are not compared`() {
        #expect(history(reading(100, 10)).growth(since: 150 * millisecond, to: reading(200, 30, groups: 1)) == nil)
        var history = history(reading(100, 10))
        #expect(history.add(reading(200, 500, groups: 1)) == 0)
    }

    @Test func `the growth on several processors is at most the elapsed time`() {
        var history = history(reading(100, 10))
        #expect(history.add(reading(200, 40)) == 30 * millisecond)
        #expect(history.add(reading(300, 440)) == 100 * millisecond)
        #expect(history.add(reading(400, 0)) == 0)
    }
}
