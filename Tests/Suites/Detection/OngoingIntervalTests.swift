import Testing

@testable import LagDetection

struct OngoingIntervalTests {
    @Test func itGrowsAndNeverShrinks() {
        var span = OngoingInterval(since: 100, seen: 110)
        #expect(span.earliest == 100)
        span.extend(at: 150, nil)
        #expect(span.seen == 150 && span.length(at: 160) == 60)
        span.extend(at: 140, nil)
        #expect(span.seen == 150)
        #expect(span.length(at: 50) == 0)
    }

    @Test func theEarliestIsNotAfterTheBeginning() {
        #expect(OngoingInterval(since: 100, earliest: 80, seen: 100).earliest == 80)
        #expect(OngoingInterval(since: 100, earliest: 120, seen: 100).earliest == 100)
    }

    @Test func blackoutsAreNotPartOfItsLength() {
        var span = OngoingInterval(since: 100, seen: 100)
        span.extend(at: 200, ProcessPause(from: 120, to: 180, atLeast: 30, atMost: 50))
        #expect(span.length(at: 200) == 50)
        #expect(span.time(ofLength: 60) == 210)
        #expect(span.length(at: span.time(ofLength: 60)) == 60)
        span.extend(at: 400, ProcessPause(from: 200, to: 400, atLeast: 100, atMost: 100))
        #expect(span.pausedAtLeast == 130 && span.pausedAtMost == 150)
        #expect(span.length(at: 400) == 150)
    }

    @Test func onlyWhatLiesWithinIsSubtracted() {
        let late = OngoingInterval(since: 100, at: 150, ProcessPause(from: 50, to: 150, atLeast: 100, atMost: 100))
        #expect(late.pausedAtMost == 50)
        #expect(late.length(at: 160) == 10)
    }

    @Test func whatIsAddedDoesNotSayThatItGoesOn() {
        var span = OngoingInterval(since: 100, seen: 110)
        span.add(ProcessPause(from: 110, to: 200), until: 200)
        #expect(span.seen == 110 && span.length(at: 200) == 10)
    }

    @Test func nothingBeforeTheFloorCounts() {
        var span = OngoingInterval(since: 100, earliest: 80, seen: 100)
        span.extend(at: 200, ProcessPause(from: 100, to: 200, atLeast: 50, atMost: 60))
        span.begin(notBefore: 90)
        #expect(span.since == 100 && span.earliest == 90 && span.pausedAtMost == 60)
        span.begin(notBefore: 300)
        #expect(span.since == 300 && span.earliest == 300 && span.length(at: 350) == 50)
        #expect(span.pausedAtLeast == 0)
    }

    @Test func thePartBeforeAnotherHasOnlyItsOwnBlackouts() {
        let (first, second) = (
            ProcessPause(from: 100, to: 200, atLeast: 50, atMost: 60), ProcessPause(from: 300, to: 500, atLeast: 100, atMost: 130)
        )
        var outer = OngoingInterval(since: 0, seen: 0)
        outer.extend(at: 200, first)
        outer.extend(at: 500, second)
        var inner = OngoingInterval(since: 250, seen: 250)
        inner.extend(at: 500, second)
        let interval = StallInterval(outer.part(before: inner), until: 250)
        // What is not known of the second process pause is not known of the rest either.
        #expect(interval.lengthAtLeast == 250 - 90 && interval.lengthAtMost == 250 - 20)
    }

    @Test func theEndOfTimeIsNeverReached() {
        var span = OngoingInterval(since: .max - 10, seen: .max - 10)
        #expect(span.time(ofLength: 20) == .max)
        span.extend(at: .max, ProcessPause(from: 0, to: .max))
        #expect(span.length(at: .max) == 0)
        span.extend(at: .max, ProcessPause(from: 0, to: .max))
        #expect(span.time(ofLength: .max) == .max)
        #expect(StallInterval(span, until: .max).lengthAtMost == 0)
        var long = OngoingInterval(since: 0, seen: 0)
        for _ in 0..<3 { long.extend(at: .max, ProcessPause(from: 0, to: .max)) }
        #expect(long.pausedAtMost == .max && long.length(at: .max) == 0)
    }
}
