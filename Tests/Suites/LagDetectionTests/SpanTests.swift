import Testing

@testable import LagDetection

struct SpanTests {
    @Test func itGrowsAndNeverShrinks() {
        var span = Span(since: 100, seen: 110)
        #expect(span.earliest == 100)
        span.goOn(at: 150, nil)
        #expect(span.seen == 150 && span.length(at: 160) == 60)
        span.goOn(at: 140, nil)
        #expect(span.seen == 150)
        #expect(span.length(at: 50) == 0)
    }

    @Test func theEarliestIsNotAfterTheBeginning() {
        #expect(Span(since: 100, earliest: 80, seen: 100).earliest == 80)
        #expect(Span(since: 100, earliest: 120, seen: 100).earliest == 100)
    }

    @Test func blackoutsAreNotPartOfItsLength() {
        var span = Span(since: 100, seen: 100)
        span.goOn(at: 200, Blackout(from: 120, to: 180, atLeast: 30, atMost: 50))
        #expect(span.length(at: 200) == 50)
        #expect(span.time(ofLength: 60) == 210)
        #expect(span.length(at: span.time(ofLength: 60)) == 60)
        span.goOn(at: 400, Blackout(from: 200, to: 400, atLeast: 100, atMost: 100))
        #expect(span.blackedOutAtLeast == 130 && span.blackedOutAtMost == 150)
        #expect(span.length(at: 400) == 150)
    }

    @Test func onlyWhatLiesWithinIsSubtracted() {
        let late = Span(since: 100, at: 150, Blackout(from: 50, to: 150, atLeast: 100, atMost: 100))
        #expect(late.blackedOutAtMost == 50)
        #expect(late.length(at: 160) == 10)
    }

    @Test func whatIsAddedDoesNotSayThatItGoesOn() {
        var span = Span(since: 100, seen: 110)
        span.add(Blackout(from: 110, to: 200), until: 200)
        #expect(span.seen == 110 && span.length(at: 200) == 10)
    }

    @Test func nothingBeforeTheFloorCounts() {
        var span = Span(since: 100, earliest: 80, seen: 100)
        span.goOn(at: 200, Blackout(from: 100, to: 200, atLeast: 50, atMost: 60))
        span.begin(notBefore: 90)
        #expect(span.since == 100 && span.earliest == 90 && span.blackedOutAtMost == 60)
        span.begin(notBefore: 300)
        #expect(span.since == 300 && span.earliest == 300 && span.length(at: 350) == 50)
        #expect(span.blackedOutAtLeast == 0)
    }

    @Test func thePartBeforeAnotherHasOnlyItsOwnBlackouts() {
        let (first, second) = (
            Blackout(from: 100, to: 200, atLeast: 50, atMost: 60), Blackout(from: 300, to: 500, atLeast: 100, atMost: 130)
        )
        var outer = Span(since: 0, seen: 0)
        outer.goOn(at: 200, first)
        outer.goOn(at: 500, second)
        var inner = Span(since: 250, seen: 250)
        inner.goOn(at: 500, second)
        let extent = Extent(outer.part(before: inner), until: 250)
        // What is not known of the second blackout is not known of the rest either.
        #expect(extent.lengthAtLeast == 250 - 90 && extent.lengthAtMost == 250 - 20)
    }

    @Test func theEndOfTimeIsNeverReached() {
        var span = Span(since: .max - 10, seen: .max - 10)
        #expect(span.time(ofLength: 20) == .max)
        span.goOn(at: .max, Blackout(from: 0, to: .max))
        #expect(span.length(at: .max) == 0)
        span.goOn(at: .max, Blackout(from: 0, to: .max))
        #expect(span.time(ofLength: .max) == .max)
        #expect(Extent(span, until: .max).lengthAtMost == 0)
        var long = Span(since: 0, seen: 0)
        for _ in 0..<3 { long.goOn(at: .max, Blackout(from: 0, to: .max)) }
        #expect(long.blackedOutAtMost == .max && long.length(at: .max) == 0)
    }
}
