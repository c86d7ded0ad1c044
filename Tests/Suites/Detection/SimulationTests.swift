internal import LagActivity
internal import LagModel
import TestSupport
import Testing

@testable import LagDetection

/// Generated timelines of a loop, polled by the watchdog, compared with what really happened.
struct SimulationTests {
    private struct Lasted: Equatable {
        var since: UInt64
        var until: UInt64
    }

    private static let rules = [(50, 3), (80, 3), (50, 5), (7, 1), (1, 40)].map { (interval: UInt64, timeouts: Int) in
        WatchRules.callouts(TimeoutRule(intervalNanoseconds: interval * millisecond, timeouts: timeouts), hang: .max)
    }

    private func randomLength(_ timeline: inout Timeline, _ rule: TimeoutRule) -> UInt64 {
        let threshold = rule.thresholdNanoseconds
        return switch timeline.random.next() % 8 {
        case 0: threshold
        case 1: threshold - 1
        case 2: threshold + timeline.random.next() % rule.intervalNanoseconds
        case 3: threshold - timeline.random.next() % rule.intervalNanoseconds
        case 4: threshold * (2 + timeline.random.next() % 5)
        default: 1 + timeline.random.next() % threshold
        }
    }

    @Test func `every stall is reported once with exact times, and no other stalls are reported`() throws {
        let bench = try WatchdogBench()
        var stalls = 0
        for seed in 0..<2500 as Range<UInt64> {
            let rules = Self.rules[Int(seed) % Self.rules.count]
            let rule = try #require(rules.callout)
            var timeline = Timeline(seed: seed, rules: rules, bench: bench)
            for _ in 0..<8 {
                timeline.work(randomLength(&timeline, rule))
                if timeline.random.next() % 2 == 0 { timeline.rest(timeline.random(0..<4 * rule.intervalNanoseconds)) }
            }
            let reported = timeline.end()
            let expected = timeline.worked.filter { $0.until - $0.since >= rule.thresholdNanoseconds }
            stalls += expected.count
            let isRight =
                reported.map { Lasted(since: $0.since, until: $0.until) }
                == expected.map { Lasted(since: $0.since, until: $0.until) }
                && reported.allSatisfy {
                    $0.phase == .end && $0.kinds == [.callout] && $0.interval.lengthAtLeast == $0.until - $0.since
                        && $0.interval.lengthAtMost == $0.until - $0.since
                }
            #expect(isRight, "seed \(seed)")
            if !isRight { break }
        }
        #expect(stalls > 3000)
    }

    @Test func `fast loops never stall`() throws {
        let bench = try WatchdogBench()
        for seed in 20_000..<20_010 as Range<UInt64> {
            var timeline = Timeline(seed: seed, rules: Self.rules[0], bench: bench)
            for _ in 0..<5000 { timeline.work(timeline.random(1..<150 * millisecond)) }
            #expect(timeline.end().isEmpty)
        }
    }

    /// Both kinds at once. A callout that stalls ends the starvation around it, which is measured again after it.
    @Test func `callout stalls and starvation are distinguished`() throws {
        let bench = try WatchdogBench()
        var rules = Self.rules[0]
        let threshold = 400 * millisecond
        rules.starvationNanoseconds = threshold
        let (interval, calloutThreshold) = (rules.tickNanoseconds, try #require(rules.callout?.thresholdNanoseconds))
        var found: [StallKind: Int] = [:]
        for seed in 30_000..<30_600 as Range<UInt64> {
            var timeline = Timeline(seed: seed, rules: rules, bench: bench)
            for _ in 0..<30 {
                let isLong = timeline.random.next() % 8 == 0
                timeline.work(timeline.random(isLong ? 150 * millisecond..<700 * millisecond : 1..<150 * millisecond))
                if timeline.random.next() % 10 == 0 { timeline.rest(timeline.random(0..<200 * millisecond)) }
            }
            let reported = timeline.end()
            // What must be reported, and what may be: stretches whose end is within an interval of the threshold.
            var certain: [Lasted] = []
            var allowed: [Lasted] = []
            func starve(_ since: UInt64, _ until: UInt64) {
                if until - since >= threshold { allowed.append(Lasted(since: since, until: until)) }
                if until - since >= threshold + interval { certain.append(Lasted(since: since, until: until)) }
            }
            for (busy, callouts) in timeline.busy {
                var since = busy.since
                for callout in timeline.worked[callouts] where callout.until - callout.since >= calloutThreshold {
                    starve(since, callout.since)
                    since = callout.until
                }
                starve(since, busy.until)
            }
            let starvations = reported.filter { $0.kinds == [.starvation] }.map { Lasted(since: $0.since, until: $0.until) }
            let callouts = reported.filter { $0.kinds == [.callout] }.map { Lasted(since: $0.since, until: $0.until) }
            let long = timeline.worked.filter { $0.until - $0.since >= calloutThreshold }
            let isRight =
                callouts == long.map { Lasted(since: $0.since, until: $0.until) }
                && starvations.allSatisfy { allowed.contains($0) } && certain.allSatisfy { starvations.contains($0) }
                && starvations.count + callouts.count == reported.count
                && zip(reported, reported.dropFirst()).allSatisfy { $0.until <= $1.since }
            #expect(isRight, "seed \(seed)")
            if !isRight {
                for each in reported { print(each.kinds, each.phase, each.since, each.until) }
                print("callouts", long, "allowed", allowed, "certain", certain)
                break
            }
            for each in reported { found[each.kind, default: 0] += 1 }
        }
        #expect(found[.callout] ?? 0 > 1500 && found[.starvation] ?? 0 > 500)
    }
}
