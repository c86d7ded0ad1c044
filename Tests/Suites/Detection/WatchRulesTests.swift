import Testing

@testable import LagDetection

struct WatchRulesTests {
    @Test func `a working loop is polled once per interval of the callout rule`() {
        var rules = WatchRules(callout: TimeoutRule(intervalNanoseconds: 80 * millisecond, timeouts: 3))
        rules.starvationNanoseconds = 30 * millisecond
        #expect(rules.tickNanoseconds == 80 * millisecond)
    }

    @Test func `without a callout rule a loop is polled every third of the shortest threshold`() {
        var rules = WatchRules()
        rules.starvationNanoseconds = 900 * millisecond
        #expect(rules.tickNanoseconds == 300 * millisecond)
        rules.ping = TimeoutRule(intervalNanoseconds: 100 * millisecond, timeouts: 6)
        #expect(rules.tickNanoseconds == 200 * millisecond)
        rules.pingWhileWaiting = TimeoutRule(intervalNanoseconds: 90 * millisecond, timeouts: 5)
        #expect(rules.tickNanoseconds == 150 * millisecond)
        rules.frame = WatchRules.Frame(periodNanoseconds: 20 * millisecond, missed: 18)
        #expect(rules.tickNanoseconds == 120 * millisecond)
        rules.sampling = WatchRules.Sampling(intervalNanoseconds: 100 * millisecond, samples: 3, functions: 1)
        #expect(rules.tickNanoseconds == 100 * millisecond)
    }

    @Test func `a loop is polled at most once per millisecond`() {
        var rules = WatchRules()
        rules.starvationNanoseconds = 1
        #expect(rules.tickNanoseconds == millisecond)
        #expect(WatchRules().tickNanoseconds == 1000 * millisecond)
    }

    @Test func `fast polls are allowed only if no rule has its own poll times`() {
        var rules = WatchRules(callout: standardRule)
        rules.starvationNanoseconds = 1000 * millisecond
        #expect(rules.allowsFastPoll)
        #expect(!WatchRules(callout: TimeoutRule(intervalNanoseconds: 150 * millisecond, timeouts: 1)).allowsFastPoll)
        var other = rules
        other.ping = standardRule
        #expect(!other.allowsFastPoll)
        other = rules
        other.pingWhileWaiting = standardRule
        #expect(!other.allowsFastPoll)
        other = rules
        other.frame = WatchRules.Frame(periodNanoseconds: millisecond, missed: 3)
        #expect(!other.allowsFastPoll)
        other = rules
        other.sampling = WatchRules.Sampling(intervalNanoseconds: millisecond, samples: 3, functions: 1)
        #expect(!other.allowsFastPoll)
    }
}
