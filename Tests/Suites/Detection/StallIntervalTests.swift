import Testing

@testable import LagDetection

/// Intervals that have ended.
struct StallIntervalTests {
    @Test func `all lengths are equal if nothing is uncertain`() {
        let interval = StallInterval(since: 100, seen: 150).ended(at: 180)
        #expect(interval.since == 100 && interval.until == 180)
        #expect(interval.length == 80 && interval.lengthAtLeast == 80 && interval.lengthAtMost == 80)
        #expect(interval.excluded == 0)
    }

    @Test func `half of the uncertain length of a process pause is subtracted`() {
        var ongoing = StallInterval(since: 0, seen: 0)
        ongoing.extend(at: 200, ProcessPause(from: 0, to: 200, atLeast: 100, atMost: 150))
        let interval = ongoing.ended(at: 300)
        #expect(interval.lengthAtLeast == 150 && interval.lengthAtMost == 200 && interval.length == 175)
        #expect(interval.excluded == 125)
    }

    @Test func `a process pause found at the end counts`() {
        let interval = StallInterval(since: 0, seen: 100).ended(
            at: 300,
            ProcessPause(from: 100, to: 400, atLeast: 250, atMost: 280)
        )
        // A hundred of its window are after the end.
        #expect(interval.lengthAtLeast == 100 && interval.lengthAtMost == 150)
    }

    @Test func `the uncertainty at both ends counts only in the upper bound`() {
        let interval = StallInterval(since: 100, earliest: 70, seen: 150).ended(at: 180, latest: 220)
        #expect(interval.lengthAtLeast == 80 && interval.length == 80)
        #expect(interval.lengthAtMost == 80 + 30 + 40)
        #expect(StallInterval(since: 100, seen: 100).ended(at: 180, latest: 170).lengthAtMost == 80)
    }

    @Test func `an end before the beginning gives an empty interval`() {
        let interval = StallInterval(since: 100, seen: 100).ended(at: 50)
        #expect(interval.until == 100 && interval.length == 0 && interval.lengthAtMost == 0)
    }

    @Test func `the widest bounds cause no trap`() {
        let interval = StallInterval(since: 1, earliest: 0, seen: 1).ended(at: .max - 1, latest: .max)
        #expect(interval.lengthAtMost == .max)
        #expect(StallInterval(since: .max, earliest: 0, seen: 0).ended(at: .max, latest: .max).lengthAtMost == .max)
    }
}
