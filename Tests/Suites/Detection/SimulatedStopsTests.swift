internal import LagActivity
internal import LagModel
import TestSupport
import Testing

@testable import LagDetection

/// Generated timelines in which the process is stopped again and again. Stops of less than 80 ms may fit between two polls and
/// remain unseen.
struct SimulatedStopsTests {
    private func randomStop(_ timeline: inout Timeline, within length: UInt64) -> (
        after: UInt64, length: UInt64, runDelay: UInt64
    ) {
        let isLong = timeline.random.next() % 4 == 0
        return (
            timeline.random(0..<max(1, length)),
            timeline.random(80 * millisecond..<(isLong ? 5000 : 400) * millisecond),
            timeline.random.next() % 3 == 0 ? timeline.random(0..<30 * millisecond) : 0
        )
    }

    private func randomLength(_ timeline: inout Timeline) -> UInt64 {
        switch timeline.random.next() % 6 {
        case 0: 150 * millisecond - timeline.random(1..<10 * millisecond)
        case 1: 200 * millisecond + timeline.random(0..<10 * millisecond)
        case 2: timeline.random(200 * millisecond..<5000 * millisecond)
        default: timeline.random(1..<250 * millisecond)
        }
    }

    /// - Parameter maximumStops: in one callout. Each may hide up to an interval, so a single one leaves the doubt of one
    ///   interval.
    @Test(arguments: [1, 4])
    func `process pauses cause no stall and hide none`(maximumStops: Int) throws {
        let bench = try WatchdogBench()
        let rules = WatchRules.callouts(hang: .max)
        let (interval, threshold) = (50 * millisecond, 150 * millisecond)
        var (stops, found) = (0, 0)
        for seed in 10_000..<11_500 as Range<UInt64> {
            var timeline = Timeline(seed: seed, rules: rules, bench: bench)
            var stopsOf: [Int] = []
            for _ in 0..<8 {
                let length = randomLength(&timeline)
                var all: [(after: UInt64, length: UInt64, runDelay: UInt64)] = []
                for _ in 0..<timeline.random(0..<UInt64(maximumStops) + 1) {
                    all.append(randomStop(&timeline, within: length / UInt64(maximumStops)))
                }
                timeline.work(length, stops: all)
                stopsOf.append(all.count)
                stops += all.count
                if timeline.random.next() % 3 > 0 {
                    timeline.rest(timeline.random(0..<200 * millisecond))
                    // At rest, a stop does not matter.
                    if timeline.random.next() % 4 == 0 { timeline.stop(randomStop(&timeline, within: 1).length) }
                }
            }
            let reported = timeline.end()
            found += reported.count
            var isRight = true
            for each in reported {
                guard let truth = timeline.worked.first(where: { $0.since == each.since }) else {
                    isRight = false
                    continue
                }
                isRight =
                    isRight && truth.ran >= threshold && each.until == truth.until && each.phase == .end
                    && each.interval.lengthAtLeast <= truth.ran && truth.ran <= each.interval.lengthAtMost
                    && each.interval.lengthAtLeast >= threshold
            }
            for (truth, stops) in zip(timeline.worked, stopsOf)
            where truth.ran >= threshold + max(1, UInt64(stops)) * interval {
                if !reported.contains(where: { $0.since == truth.since }) { isRight = false }
            }
            #expect(isRight, "seed \(seed)")
            if !isRight {
                for each in reported { print(each.since, each.until, each.interval.lengthAtLeast, each.interval.lengthAtMost) }
                for each in timeline.worked where each.ran > 140 * millisecond { print("truth", each) }
                break
            }
        }
        #expect(stops > 5000 && found > 2000)
    }

    /// The same for both kinds; a stop ends neither.
    @Test func `process pauses cause no starvation and hide none`() throws {
        let bench = try WatchdogBench()
        var rules = WatchRules.callouts(hang: .max)
        let (interval, threshold) = (50 * millisecond, 400 * millisecond)
        rules.starvationNanoseconds = threshold
        var found: [StallKind: Int] = [:]
        for seed in 40_000..<40_800 as Range<UInt64> {
            var timeline = Timeline(seed: seed, rules: rules, bench: bench)
            var stopsAt: [UInt64] = []
            for _ in 0..<25 {
                let isLong = timeline.random.next() % 10 == 0
                let length = timeline.random(isLong ? 150 * millisecond..<700 * millisecond : 1..<149 * millisecond)
                if timeline.random.next() % 8 == 0 {
                    let stop = randomStop(&timeline, within: length)
                    stopsAt.append(timeline.now)
                    timeline.work(length, stops: [stop])
                } else {
                    timeline.work(length)
                }
                if timeline.random.next() % 10 == 0 { timeline.rest(timeline.random(0..<200 * millisecond)) }
            }
            let reported = timeline.end()
            var isRight = zip(reported, reported.dropFirst()).allSatisfy { $0.until <= $1.since }
            for each in reported {
                found[each.kind, default: 0] += 1
                // Both begin and end with a callout, at the latest with the end of the last one.
                let within = timeline.worked.filter { $0.since >= each.since && $0.until <= each.until }
                let ran = within.reduce(0) { $0 + $1.ran }
                isRight =
                    isRight && within.first?.since == each.since && within.last?.until == each.until
                    && each.interval.lengthAtLeast <= ran && ran <= each.interval.lengthAtMost && ran >= each.threshold
                    && each.kinds == [each.kind] && (each.kind == .callout ? within.count == 1 : true)
            }
            for truth in timeline.worked where truth.ran >= 150 * millisecond + interval {
                if !reported.contains(where: { $0.since == truth.since && $0.kind == .callout }) { isRight = false }
            }
            for (busy, callouts) in timeline.busy {
                // Callouts that stalled (here also those that may have) divide it.
                for piece in timeline.worked[callouts].split(whereSeparator: { $0.ran >= 150 * millisecond }) {
                    let ran = piece.reduce(0) { $0 + $1.ran }
                    let stops = stopsAt.filter { $0 >= piece.first!.since && $0 < piece.last!.until }.count
                    guard ran >= threshold + UInt64(stops + 1) * interval else { continue }
                    if !reported.contains(where: {
                        $0.kind == .starvation && $0.since <= piece.first!.since && $0.until >= piece.last!.until
                    }) {
                        print("hidden", piece.first!.since, piece.last!.until, ran, busy)
                        isRight = false
                    }
                }
            }
            #expect(isRight, "seed \(seed)")
            if !isRight {
                for each in reported {
                    print(each.kinds, each.since, each.until, each.interval.lengthAtLeast, each.interval.lengthAtMost)
                }
                for each in timeline.worked { print("truth", each) }
                break
            }
        }
        #expect(found[.callout] ?? 0 > 1000 && found[.starvation] ?? 0 > 300)
    }
}
