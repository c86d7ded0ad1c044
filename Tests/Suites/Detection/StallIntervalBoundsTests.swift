import TestSupport
import Testing

@testable import LagDetection

/// What holds for every interval, whatever happened in it: generated intervals, compared with what really happened.
struct StallIntervalBoundsTests {
    private var random: SeededGenerator

    init() { random = SeededGenerator(seed: 17) }

    private mutating func random(_ range: ClosedRange<UInt64>) -> UInt64 { UInt64.random(in: range, using: &random) }

    /// Small numbers, which often coincide, and the largest ones.
    private mutating func time() -> UInt64 {
        switch random.next() % 12 {
        case 0: .max
        case 1: .max - random(0...3)
        case 2: random.next()
        default: random(0...60)
        }
    }

    private mutating func pause() -> ProcessPause? {
        guard random.next() % 3 > 0 else { return nil }
        return ProcessPause(from: time(), to: time(), atLeast: time(), atMost: time())
    }

    private mutating func interval(operations: UInt64) -> StallInterval {
        var interval = StallInterval(
            since: time(),
            earliest: random.next() % 2 == 0 ? time() : nil,
            likely: random.next() % 2 == 0 ? time() : nil,
            seen: time()
        )
        for _ in 0..<operations {
            switch random.next() % 5 {
            case 0, 1: interval.extend(at: time(), pause())
            case 2: interval.add(pause(), until: time())
            case 3: interval.begin(notBefore: time())
            default: interval = interval.ended(at: time(), latest: random.next() % 2 == 0 ? time() : nil, pause())
            }
        }
        return interval
    }

    @Test mutating func `the duration is between its bounds after any events in any order`() {
        for round in 0..<50_000 {
            var interval = interval(operations: random(0...6))
            if random.next() % 4 == 0 { interval = interval.part(before: self.interval(operations: random(0...3))) }
            let isWithin = interval.lengthAtLeast <= interval.length && interval.length <= interval.lengthAtMost
            #expect(isWithin, "\(round): \(interval)")
            #expect(interval.earliest <= interval.likely && interval.likely <= interval.since, "\(round): \(interval)")
            #expect(interval.until <= interval.latest, "\(round): \(interval)")
            if !isWithin { break }
        }
    }

    /// What is known of a stall is true: its bounds contain the time in which it lasted and the process ran.
    @Test mutating func `the real duration is between the bounds`() {
        for round in 0..<20_000 {
            let begin = random(50...100)
            let end = begin + random(0...100)
            let since = random(begin...end)
            var interval = StallInterval(
                since: since,
                earliest: random(0...begin),
                likely: random(0...since),
                seen: since
            )
            var (now, ran) = (since, end - begin)
            // One after the other, as the watchdog polls: for part of the time between two polls the process could not run.
            while now < end {
                let next = min(end, now + random(1...40))
                let stopBegin = random(now...next)
                let stopEnd = random(stopBegin...next)
                let length = stopEnd - stopBegin
                ran -= length
                let isKnown = random.next() % 2 == 0
                let pause = ProcessPause(
                    from: now,
                    to: next,
                    atLeast: length - min(length, random(0...5)),
                    atMost: length + random(0...5)
                )
                interval.extend(at: next, isKnown || length > 0 ? pause : nil)
                now = next
            }
            let over = interval.ended(at: end, latest: end + random(0...20))
            let isWithin = over.lengthAtLeast <= ran && ran <= over.lengthAtMost
            #expect(isWithin, "\(round): \(ran) of \(over)")
            if !isWithin { break }
        }
    }
}
