internal import LagMonitor
internal import Testing

@testable internal import lagmond

/// Time and random numbers are injected; nothing sleeps.
struct RestartRuleTests {
    private static let second: UInt64 = 1_000_000_000

    private static func rule(_ change: (inout RestartRule.Limits) -> Void = { _ in }) -> RestartRule {
        var limits = RestartRule.Limits()
        change(&limits)
        return RestartRule(limits)
    }

    private static func time(_ seconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * second) }

    @Test func `each restart delay is twice the previous one up to the maximum`() {
        var rule = Self.rule {
            $0.count = 20
            $0.longestDelay = .seconds(10)
        }
        let waits = (0..<6).map { rule.decide(at: Self.time($0), ranFor: .zero, randomFraction: 1) }
        #expect(waits == [1, 2, 4, 8, 10, 10].map { .start(after: .seconds($0)) })
    }

    @Test(arguments: [(0.0, 0.5), (0.5, 0.75), (1.0, 1.0), (-3, 0.5), (7, 1)])
    func `the random fraction selects between half and all of the delay`(randomFraction: Double, seconds: Double) {
        var rule = Self.rule()
        #expect(rule.decide(at: Self.time(0), ranFor: .zero, randomFraction: randomFraction) == .start(after: .seconds(seconds)))
    }

    @Test func `a command that ran long enough resets the delay`() {
        var rule = Self.rule()
        _ = rule.decide(at: Self.time(0), ranFor: .zero, randomFraction: 1)
        _ = rule.decide(at: Self.time(1), ranFor: .seconds(59), randomFraction: 1)
        #expect(rule.decide(at: Self.time(2), ranFor: .seconds(60), randomFraction: 1) == .start(after: .seconds(1)))
    }

    @Test func `the number of restarts in the time window is limited`() {
        var rule = Self.rule {
            $0.count = 2
            $0.window = .seconds(100)
        }
        #expect(rule.decide(at: Self.time(0), ranFor: .zero, randomFraction: 1) != .giveUp)
        #expect(rule.decide(at: Self.time(60), ranFor: .seconds(60), randomFraction: 1) != .giveUp)
        // The window counts restarts, whether or not the command ran long enough.
        #expect(rule.decide(at: Self.time(99), ranFor: .seconds(60), randomFraction: 1) == .giveUp)
        #expect(rule.decide(at: Self.time(100), ranFor: .zero, randomFraction: 1) != .giveUp)
    }

    @Test func `a limit of zero allows no restarts`() {
        var rule = Self.rule { $0.count = 0 }
        #expect(rule.decide(at: Self.time(0), ranFor: .seconds(1000), randomFraction: 0) == .giveUp)
    }

    @Test func `many doublings of the delay do not overflow`() {
        var rule = Self.rule {
            $0.count = 1000
            $0.longestDelay = .seconds(3600)
        }
        for second in 0..<999 { _ = rule.decide(at: Self.time(UInt64(second)), ranFor: .zero, randomFraction: 1) }
        #expect(rule.decide(at: Self.time(1000), ranFor: .zero, randomFraction: 1) != .giveUp || rule.limits.count < 1000)
    }
}
