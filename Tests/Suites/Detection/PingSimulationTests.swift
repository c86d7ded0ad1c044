internal import LagActivity
import TestSupport
import Testing

@testable import LagDetection

/// Generated loops that are sometimes busy and publish nothing: what pings find, compared with what really happened.
struct PingSimulationTests {
    /// The loop answers when it is not busy.
    private struct Loop {
        let stretches: [Range<UInt64>]

        init(from start: UInt64, _ random: inout SeededGenerator) {
            var (stretches, time): ([Range<UInt64>], UInt64) = ([], start)
            for _ in 0..<10 {
                let begin = time + UInt64.random(in: millisecond...200 * millisecond, using: &random)
                time = begin + UInt64.random(in: millisecond...600 * millisecond, using: &random)
                stretches.append(begin..<time)
            }
            self.stretches = stretches
        }

        var end: UInt64 { stretches.last?.upperBound ?? 0 }

        func answer(toPingAt time: UInt64) -> UInt64 { stretches.first { $0.contains(time) }?.upperBound ?? time }
    }

    /// What was reported, and the loop's stretch that it belongs to.
    private func reported(_ loop: Loop, from start: UInt64, _ random: inout SeededGenerator) -> [(StallInterval, Range<UInt64>?)]
    {
        var strategy = PingStrategy(rule: standardRule, whileWaiting: false)
        var found: [(StallInterval, Range<UInt64>?)] = []
        var (now, pinged, pong, answer) = (start, UInt64(0), UInt64(0), UInt64.max)
        while now < loop.end + 500 * millisecond {
            if answer <= now { (pong, answer) = (answer, .max) }
            let reading = BeaconReading(1, .waiting, at: 1, woke: 1, pong: pong)
            if case .ended(let interval) = strategy.observe(reading, at: now, pinged: pinged) {
                found.append((interval, loop.stretches.first { $0.upperBound == pong }))
            }
            if strategy.wantsPing {
                // It is sent to the loop slightly later, and recorded as sent.
                pinged = now + random.next() % millisecond
                answer = loop.answer(toPingAt: pinged)
                now = max(now + 1, pinged)
            } else {
                // When it requests a poll, or earlier, as for other rules.
                let next = max(now + 1, strategy.nextPoll ?? .max)
                now = random.next() % 4 == 0 ? UInt64.random(in: now + 1...next, using: &random) : next
            }
        }
        return found
    }

    @Test func `the duration of a stall that a ping finds lies within its bounds`() {
        let start = 1000 * millisecond
        let (threshold, interval) = (standardRule.thresholdNanoseconds, standardRule.intervalNanoseconds)
        var count = 0
        for seed in 0..<1000 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            // It has answered before it is busy for the first time.
            let loop = Loop(from: start + 2 * interval, &random)
            let reported = reported(loop, from: start, &random)
            count += reported.count
            var isRight = true
            for (interval, stretch) in reported {
                let truth = stretch.map { $0.upperBound - $0.lowerBound } ?? 0
                isRight =
                    isRight && interval.lengthAtLeast <= truth && truth <= interval.lengthAtMost
                    && interval.lengthAtLeast <= interval.length && interval.length <= interval.lengthAtMost
                    && interval.lengthAtLeast >= threshold
            }
            // A ping may come up to two intervals after the beginning: it is sent when the end of the last stall was seen and an
            // interval has passed.
            let certain = loop.stretches.filter { $0.upperBound - $0.lowerBound >= threshold + 2 * interval + 2 * millisecond }
            let found = reported.compactMap { $0.1 }
            isRight = isRight && certain.allSatisfy { stretch in found.count { $0 == stretch } == 1 }
            #expect(isRight, "seed \(seed)")
            if !isRight {
                for (interval, stretch) in reported { print(interval, stretch as Any) }
                print(loop)
                break
            }
        }
        #expect(count > 4000)
    }
}
