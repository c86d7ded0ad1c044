import Testing

@testable import LagDetection

struct OngoingStallIntervalTests {
    @Test func `an interval grows and never shrinks`() {
        var interval = StallInterval(since: 100, seen: 110)
        #expect(interval.earliest == 100)
        interval.extend(at: 150, nil)
        #expect(interval.until == 150 && interval.length(at: 160) == 60)
        interval.extend(at: 140, nil)
        #expect(interval.until == 150)
        #expect(interval.length(at: 50) == 0)
    }

    @Test func `the earliest beginning is not after the beginning`() {
        #expect(StallInterval(since: 100, earliest: 80, seen: 100).earliest == 80)
        #expect(StallInterval(since: 100, earliest: 120, seen: 100).earliest == 100)
    }

    @Test func `process pauses are not part of the length`() {
        var interval = StallInterval(since: 100, seen: 100)
        interval.extend(at: 200, ProcessPause(from: 120, to: 180, atLeast: 30, atMost: 50))
        #expect(interval.length(at: 200) == 50)
        #expect(interval.time(ofLength: 60) == 210)
        #expect(interval.length(at: interval.time(ofLength: 60)) == 60)
        interval.extend(at: 400, ProcessPause(from: 200, to: 400, atLeast: 100, atMost: 100))
        #expect(interval.paused.atLeast == 130 && interval.paused.atMost == 150)
        #expect(interval.length(at: 400) == 150)
    }

    @Test func `only the part of a process pause within the interval is subtracted`() {
        let late = StallInterval(since: 100, at: 150, ProcessPause(from: 50, to: 150, atLeast: 100, atMost: 100))
        #expect(late.paused.atMost == 50)
        #expect(late.length(at: 160) == 10)
    }

    @Test func `adding a process pause does not extend the interval`() {
        var interval = StallInterval(since: 100, seen: 110)
        interval.add(ProcessPause(from: 110, to: 200), until: 200)
        #expect(interval.until == 110 && interval.length(at: 200) == 10)
    }

    @Test func `time before ignoreBefore does not count`() {
        var interval = StallInterval(since: 100, earliest: 80, seen: 100)
        interval.extend(at: 200, ProcessPause(from: 100, to: 200, atLeast: 50, atMost: 60))
        interval.begin(notBefore: 90)
        #expect(interval.since == 100 && interval.earliest == 90 && interval.paused.atMost == 60)
        interval.begin(notBefore: 300)
        #expect(interval.since == 300 && interval.earliest == 300 && interval.length(at: 350) == 50)
        #expect(interval.paused.atLeast == 0)
    }

    @Test func `the part before another interval has only its own process pauses`() {
        let (first, second) = (
            ProcessPause(from: 100, to: 200, atLeast: 50, atMost: 60), ProcessPause(from: 300, to: 500, atLeast: 100, atMost: 130)
        )
        var outer = StallInterval(since: 0, seen: 0)
        outer.extend(at: 200, first)
        outer.extend(at: 500, second)
        var inner = StallInterval(since: 250, seen: 250)
        inner.extend(at: 500, second)
        let interval = outer.part(before: inner)
        // What is unknown of the second process pause is unknown of the remaining part too.
        #expect(interval.lengthAtLeast == 250 - 90 && interval.lengthAtMost == 250 - 20)
    }

    @Test func `times never exceed the maximum`() {
        var interval = StallInterval(since: .max - 10, seen: .max - 10)
        #expect(interval.time(ofLength: 20) == .max)
        interval.extend(at: .max, ProcessPause(from: 0, to: .max))
        #expect(interval.length(at: .max) == 0)
        interval.extend(at: .max, ProcessPause(from: 0, to: .max))
        #expect(interval.time(ofLength: .max) == .max)
        #expect(interval.ended(at: .max).lengthAtMost == 0)
        var long = StallInterval(since: 0, seen: 0)
        for _ in 0..<3 { long.extend(at: .max, ProcessPause(from: 0, to: .max)) }
        #expect(long.paused.atMost == .max && long.length(at: .max) == 0)
    }
}
