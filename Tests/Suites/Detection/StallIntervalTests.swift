import Testing

@testable import LagDetection

struct StallIntervalTests {
    @Test func withoutDoubtAllLengthsAreOne() {
        let interval = StallInterval(OngoingInterval(since: 100, seen: 150), until: 180)
        #expect(interval.since == 100 && interval.until == 180)
        #expect(interval.length == 80 && interval.lengthAtLeast == 80 && interval.lengthAtMost == 80)
        #expect(interval.excluded == 0)
    }

    @Test func whatABlackoutLeavesOpenIsHalved() {
        var span = OngoingInterval(since: 0, seen: 0)
        span.extend(at: 200, ProcessPause(from: 0, to: 200, atLeast: 100, atMost: 150))
        let interval = StallInterval(span, until: 300)
        #expect(interval.lengthAtLeast == 150 && interval.lengthAtMost == 200 && interval.length == 175)
        #expect(interval.excluded == 125)
    }

    @Test func aBlackoutThatCameToLightWithTheEndCounts() {
        let interval = StallInterval(OngoingInterval(since: 0, seen: 100), until: 300, ProcessPause(from: 100, to: 400, atLeast: 250, atMost: 280))
        // A hundred of its window lie behind the end.
        #expect(interval.lengthAtLeast == 100 && interval.lengthAtMost == 150)
    }

    @Test func whatIsNotKnownOfBothEndsIsOnlyInTheUpperBound() {
        let interval = StallInterval(OngoingInterval(since: 100, earliest: 70, seen: 150), until: 180, latest: 220)
        #expect(interval.lengthAtLeast == 80 && interval.length == 80)
        #expect(interval.lengthAtMost == 80 + 30 + 40)
        #expect(StallInterval(OngoingInterval(since: 100, seen: 100), until: 180, latest: 170).lengthAtMost == 80)
    }

    @Test func anEndBeforeTheBeginningIsNone() {
        let interval = StallInterval(OngoingInterval(since: 100, seen: 100), until: 50)
        #expect(interval.until == 100 && interval.length == 0 && interval.lengthAtMost == 0)
    }

    @Test func theWidestBoundsDoNotTrap() {
        let interval = StallInterval(OngoingInterval(since: 1, earliest: 0, seen: 1), until: .max - 1, latest: .max)
        #expect(interval.lengthAtMost == .max)
        #expect(StallInterval(OngoingInterval(since: .max, earliest: 0, seen: 0), until: .max, latest: .max).lengthAtMost == .max)
    }
}
