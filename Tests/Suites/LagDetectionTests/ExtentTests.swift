import Testing

@testable import LagDetection

struct ExtentTests {
    @Test func withoutDoubtAllLengthsAreOne() {
        let extent = Extent(Span(since: 100, seen: 150), until: 180)
        #expect(extent.since == 100 && extent.until == 180)
        #expect(extent.length == 80 && extent.lengthAtLeast == 80 && extent.lengthAtMost == 80)
        #expect(extent.excluded == 0)
    }

    @Test func whatABlackoutLeavesOpenIsHalved() {
        var span = Span(since: 0, seen: 0)
        span.goOn(at: 200, Blackout(from: 0, to: 200, atLeast: 100, atMost: 150))
        let extent = Extent(span, until: 300)
        #expect(extent.lengthAtLeast == 150 && extent.lengthAtMost == 200 && extent.length == 175)
        #expect(extent.excluded == 125)
    }

    @Test func aBlackoutThatCameToLightWithTheEndCounts() {
        let extent = Extent(Span(since: 0, seen: 100), until: 300, Blackout(from: 100, to: 400, atLeast: 250, atMost: 280))
        // A hundred of its window lie behind the end.
        #expect(extent.lengthAtLeast == 100 && extent.lengthAtMost == 150)
    }

    @Test func whatIsNotKnownOfBothEndsIsOnlyInTheUpperBound() {
        let extent = Extent(Span(since: 100, earliest: 70, seen: 150), until: 180, latest: 220)
        #expect(extent.lengthAtLeast == 80 && extent.length == 80)
        #expect(extent.lengthAtMost == 80 + 30 + 40)
        #expect(Extent(Span(since: 100, seen: 100), until: 180, latest: 170).lengthAtMost == 80)
    }

    @Test func anEndBeforeTheBeginningIsNone() {
        let extent = Extent(Span(since: 100, seen: 100), until: 50)
        #expect(extent.until == 100 && extent.length == 0 && extent.lengthAtMost == 0)
    }

    @Test func theWidestBoundsDoNotTrap() {
        let extent = Extent(Span(since: 1, earliest: 0, seen: 1), until: .max - 1, latest: .max)
        #expect(extent.lengthAtMost == .max)
        #expect(Extent(Span(since: .max, earliest: 0, seen: 0), until: .max, latest: .max).lengthAtMost == .max)
    }
}
