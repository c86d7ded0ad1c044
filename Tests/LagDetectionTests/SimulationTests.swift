import LagActivity
import Testing

@testable import LagDetection

/// Generated timelines of a loop, seen by the watchdog's own looks, against what really happened.
struct SimulationTests {
    struct Stretch: Equatable {
        var since: UInt64
        var until: UInt64
    }

    /// A loop that works and sleeps, and a watchdog that looks when its plan says so, or when it is posted.
    struct Timeline {
        var random: SeededGenerator
        let rule: DetectionRule
        let bench: WatchdogBench
        let loop = FakeLoop()
        var now: UInt64
        var expected: [Stretch] = []
        var worked: [Stretch] = []
        var lateness = LatenessGuard(toleranceNanoseconds: Watchdog.toleranceNanoseconds)
        var waitBegan: UInt64

        init(seed: UInt64, rule: DetectionRule, bench: WatchdogBench) {
            random = SeededGenerator(seed: seed)
            self.rule = rule
            self.bench = bench
            now = bench.clock.now + 1
            waitBegan = now
            _ = bench.watch(loop, rule: rule)
            look(at: now)
        }

        mutating func look(at time: UInt64) {
            let lost = lateness.lost(from: waitBegan, until: bench.plan.deadline, endedAt: time) { 0 }
            bench.look(at: time, lost: lost)
            waitBegan = time
        }

        /// Lets time pass: the watchdog looks at its deadlines, which at the same moment come before the loop's moves.
        mutating func pass(until time: UInt64) {
            while bench.plan.deadline <= time { look(at: max(bench.plan.deadline, now)) }
            now = time
        }

        mutating func move(to activity: LoopActivity) {
            let posted = loop.move(to: activity, at: now)
            if posted, bench.plan.deadline == .max || bench.plan.stalled { look(at: now) }
        }

        mutating func work(_ length: UInt64) {
            let since = now
            move(
                to: [.afterWaiting, .beforeTimers, .beforeSources, .entry, .beforeWaiting, .exit].randomElement(using: &random)!
            )
            pass(until: since + length)
            worked.append(Stretch(since: since, until: now))
        }

        mutating func randomLength() -> UInt64 {
            let threshold = rule.thresholdNanoseconds
            return switch random.next() % 8 {
            case 0: threshold
            case 1: threshold - 1
            case 2: threshold + random.next() % rule.intervalNanoseconds
            case 3: threshold - random.next() % rule.intervalNanoseconds
            case 4: threshold * (2 + random.next() % 5)
            default: 1 + random.next() % threshold
            }
        }

        /// Up to the end of what is on its way.
        mutating func end() -> [Stretch] {
            move(to: .waiting)
            pass(until: now + 3 * rule.intervalNanoseconds)
            let told = bench.told()
            _ = bench.registry.endAll(of: bench.owner)
            bench.look(at: now)
            #expect(bench.told().isEmpty)
            return told.map { Stretch(since: $0.since, until: $0.until) }
        }
    }

    private static let rules = [
        DetectionRule(intervalNanoseconds: 50 * millisecond, timeouts: 3, hangNanoseconds: .max),
        DetectionRule(intervalNanoseconds: 80 * millisecond, timeouts: 3, hangNanoseconds: .max),
        DetectionRule(intervalNanoseconds: 50 * millisecond, timeouts: 5, hangNanoseconds: .max),
        DetectionRule(intervalNanoseconds: 7 * millisecond, timeouts: 1, hangNanoseconds: .max),
        DetectionRule(intervalNanoseconds: millisecond, timeouts: 40, hangNanoseconds: .max),
    ]

    @Test func everyStallIsToldOnceAndExactlyAndNothingElse() throws {
        let bench = try WatchdogBench()
        var stalls = 0
        for seed in 0..<2500 as Range<UInt64> {
            let rule = Self.rules[Int(seed) % Self.rules.count]
            var timeline = Timeline(seed: seed, rule: rule, bench: bench)
            for _ in 0..<8 {
                timeline.work(timeline.randomLength())
                if timeline.random.next() % 2 == 0 {
                    timeline.move(to: .waiting)
                    timeline.pass(until: timeline.now + timeline.random.next() % (4 * rule.intervalNanoseconds))
                }
            }
            let told = timeline.end()
            let expected = timeline.worked.filter { $0.until - $0.since >= rule.thresholdNanoseconds }
            stalls += expected.count
            #expect(told == expected, "seed \(seed)")
            if told != expected { break }
        }
        #expect(stalls > 3000)
    }

    @Test func timeInWhichTheProcessIsStoppedMakesNoStall() throws {
        let bench = try WatchdogBench()
        let rule = Self.rules[0]
        var stops = 0
        var found = 0
        for seed in 10_000..<13_000 as Range<UInt64> {
            var timeline = Timeline(seed: seed, rule: rule, bench: bench)
            // How long each stretch really ran.
            var ran: [UInt64: UInt64] = [:]
            for _ in 0..<6 {
                let length = timeline.randomLength()
                let since = timeline.now
                if timeline.random.next() % 2 == 0 {
                    let before = timeline.random.next() % length
                    timeline.work(before)
                    // Nobody runs, and then everybody at once; shorter stops fit between two looks and show to nobody.
                    timeline.now += 80 * millisecond + timeline.random.next() % (5000 * millisecond)
                    if timeline.bench.plan.deadline <= timeline.now { timeline.look(at: timeline.now) }
                    timeline.pass(until: timeline.now + (length - before))
                    stops += 1
                } else {
                    timeline.work(length)
                }
                ran[since] = length
                timeline.move(to: .waiting)
                timeline.pass(until: timeline.now + timeline.random.next() % (200 * millisecond))
            }
            for stretch in timeline.end() {
                found += 1
                let length = ran[stretch.since] ?? 0
                #expect(length >= rule.thresholdNanoseconds, "seed \(seed), since \(stretch.since)")
            }
        }
        #expect(stops > 5000 && found > 3000)
    }

    @Test func fastLoopsNeverStall() throws {
        let bench = try WatchdogBench()
        for seed in 20_000..<20_010 as Range<UInt64> {
            var timeline = Timeline(seed: seed, rule: Self.rules[0], bench: bench)
            for _ in 0..<5000 { timeline.work(1 + timeline.random.next() % (149 * millisecond)) }
            #expect(timeline.end().isEmpty)
        }
    }
}
