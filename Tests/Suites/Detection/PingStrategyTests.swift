internal import LagActivity
import Testing

@testable import LagDetection

struct PingStrategyTests {
    private let start: UInt64 = 1000 * millisecond
    private let interval = 50 * millisecond

    private func idle(pong: UInt64 = 0) -> BeaconReading { BeaconReading(1, .waiting, at: 1, woke: 1, pong: pong) }

    /// A strategy that requested a ping at `start`, which was sent at once.
    private func asked(whileWaiting: Bool = false, pong: UInt64 = 0) -> PingStrategy {
        var strategy = PingStrategy(rule: standardRule, whileWaiting: whileWaiting)
        #expect(strategy.observe(idle(pong: pong), at: start) == .nothing)
        #expect(strategy.wantsPing)
        #expect(strategy.observe(idle(pong: pong), at: start, pinged: start) == .nothing)
        #expect(!strategy.wantsPing)
        return strategy
    }

    /// The same without an answer up to the threshold.
    private func stalled(pong: UInt64 = 0) -> PingStrategy {
        var strategy = asked(pong: pong)
        for time: UInt64 in [50, 100] { _ = strategy.observe(idle(pong: pong), at: start + time * millisecond, pinged: start) }
        #expect(strategy.observe(idle(pong: pong), at: start + 150 * millisecond, pinged: start) == .stalled)
        return strategy
    }

    @Test func `an unanswered ping is a stall at the threshold`() {
        var strategy = asked()
        #expect(strategy.interval == StallInterval(since: start, seen: start))
        #expect(!strategy.isSuspicious)
        #expect(strategy.observe(idle(), at: start + 50 * millisecond, pinged: start) == .suspected)
        #expect(strategy.isSuspicious)
        #expect(strategy.observe(idle(), at: start + 100 * millisecond, pinged: start) == .nothing)
        #expect(strategy.nextPoll == start + 150 * millisecond)
        #expect(strategy.observe(idle(), at: start + 150 * millisecond - 1, pinged: start) == .nothing)
        #expect(strategy.observe(idle(), at: start + 150 * millisecond, pinged: start) == .stalled)
        #expect(strategy.isStalled)
        #expect(strategy.observe(idle(), at: start + 151 * millisecond, pinged: start) == .nothing)
    }

    @Test func `an answer before the poll at the threshold is in time`() {
        var strategy = asked()
        let pong = start + 150 * millisecond
        #expect(strategy.observe(idle(pong: pong), at: pong, pinged: start) == .nothing)
        #expect(!strategy.isStalled && strategy.interval == nil)
    }

    @Test func `the next ping comes one interval after the last`() {
        var strategy = asked()
        #expect(strategy.nextPoll == start + interval)
        _ = strategy.observe(idle(pong: start + 7), at: start + 10, pinged: start)
        #expect(strategy.nextPoll == start + interval)
        _ = strategy.observe(idle(pong: start + 7), at: start + interval - 1, pinged: start)
        #expect(!strategy.wantsPing)
        _ = strategy.observe(idle(pong: start + 7), at: start + interval, pinged: start)
        #expect(strategy.wantsPing)
    }

    @Test func `a ping stall ends with the answer`() {
        var strategy = stalled(pong: start - 20 * millisecond)
        let pong = start + 200 * millisecond
        guard case .ended(let stallInterval) = strategy.observe(idle(pong: pong), at: pong + millisecond, pinged: start) else {
            Issue.record("no end")
            return
        }
        #expect(stallInterval.since == start && stallInterval.until == pong)
        #expect(stallInterval.lengthAtLeast == 200 * millisecond)
        // It may have begun right after the last answer.
        #expect(stallInterval.lengthAtMost == 220 * millisecond)
        #expect(!strategy.isStalled && strategy.nextPoll == pong + millisecond + interval)
    }

    @Test func `an answer to an earlier ping does not count`() {
        let last = start - millisecond
        var strategy = asked(pong: last)
        #expect(strategy.observe(idle(pong: last), at: start + 50 * millisecond, pinged: start) == .suspected)
        #expect(strategy.observe(idle(pong: last), at: start + 150 * millisecond, pinged: start) == .stalled)
    }

    @Test func `the time until a ping is sent does not count against the loop`() {
        var strategy = PingStrategy(rule: standardRule, whileWaiting: false)
        _ = strategy.observe(idle(), at: start)
        for time: UInt64 in [50, 100, 200, 1000] {
            let now = start + time * millisecond
            #expect(strategy.observe(idle(), at: now, pinged: start - millisecond) == .nothing)
            #expect(!strategy.wantsPing && strategy.interval == nil)
            // And no busy polling meanwhile.
            #expect(strategy.nextPoll == now + interval)
        }
        let given = start + 1000 * millisecond + 1
        #expect(strategy.observe(idle(), at: given + 49 * millisecond, pinged: given) == .nothing)
        #expect(strategy.observe(idle(), at: given + 149 * millisecond, pinged: given) == .suspected)
        #expect(strategy.observe(idle(), at: given + 150 * millisecond, pinged: given) == .stalled)
        #expect(strategy.interval?.since == given)
    }

    @Test func `an answer before its ping is recorded counts as an answer`() {
        var strategy = PingStrategy(rule: standardRule, whileWaiting: false)
        _ = strategy.observe(idle(), at: start)
        let pong = start + 3 * millisecond
        #expect(strategy.observe(idle(pong: pong), at: start + 50 * millisecond, pinged: pong + millisecond) == .nothing)
        #expect(strategy.interval == nil)
    }

    @Test(arguments: [LoopActivity.beforeSources, .beforeWaiting, .afterWaiting])
    func `a waiting loop is pinged only while it waits`(activity: LoopActivity) {
        var strategy = PingStrategy(rule: standardRule, whileWaiting: true)
        _ = strategy.observe(BeaconReading(1, activity, at: start), at: start)
        #expect(!strategy.wantsPing && strategy.nextPoll == start + interval)
        _ = strategy.observe(idle(), at: start + interval)
        #expect(strategy.wantsPing)
        var periodic = PingStrategy(rule: standardRule, whileWaiting: false)
        _ = periodic.observe(BeaconReading(1, activity, at: start), at: start)
        #expect(periodic.wantsPing)
    }

    @Test func `a loop that starts to work must still answer its ping`() {
        var strategy = asked(whileWaiting: true)
        let work = BeaconReading(2, .beforeSources, at: start + 10 * millisecond, woke: start + 10 * millisecond)
        #expect(strategy.observe(work, at: start + 50 * millisecond, pinged: start) == .suspected)
        #expect(strategy.observe(work, at: start + 150 * millisecond, pinged: start) == .stalled)
    }

    @Test(arguments: [LoopActivity.notRunning, .finished, .expected])
    func `a loop that does not run need not answer`(activity: LoopActivity) {
        let gone = BeaconReading(2, activity)
        var quiet = PingStrategy(rule: standardRule, whileWaiting: false)
        _ = quiet.observe(gone, at: start)
        #expect(!quiet.wantsPing && quiet.nextPoll == start + interval)

        var strategy = asked()
        #expect(strategy.observe(gone, at: start + 140 * millisecond, pinged: start) == .nothing)
        #expect(strategy.interval == nil)

        var late = stalled()
        guard case .ended(let stallInterval) = late.observe(gone, at: start + 170 * millisecond, pinged: start) else {
            Issue.record("no end")
            return
        }
        // It stopped running some time between the last poll and this one.
        #expect(stallInterval.lengthAtLeast == 150 * millisecond && stallInterval.lengthAtMost == 170 * millisecond)
    }

    @Test func `a queue that publishes no activity is pinged too`() {
        var strategy = PingStrategy(rule: standardRule, whileWaiting: false)
        _ = strategy.observe(BeaconReading(word: 0, calloutNanoseconds: 0), at: start)
        #expect(strategy.wantsPing)
    }

    /// As `ExpectedBlockScope` publishes it for queues that publish nothing else.
    @Test func `a queue is pinged again after an expected block`() {
        var strategy = asked()
        let expected = BeaconReading(1, .expected)
        #expect(strategy.observe(expected, at: start + 140 * millisecond, pinged: start) == .nothing)
        let after = BeaconReading(2, .waiting)
        let next = start + 140 * millisecond + interval
        #expect(strategy.observe(after, at: next, pinged: start) == .nothing)
        #expect(strategy.wantsPing)
        #expect(strategy.observe(after, at: next + 150 * millisecond, pinged: next) == .stalled)
    }

    @Test func `a process pause delays a ping stall by its length`() {
        var strategy = asked()
        _ = strategy.observe(idle(), at: start + 50 * millisecond, pinged: start)
        let (stopped, resumed) = (start + 50 * millisecond, start + 3050 * millisecond)
        #expect(
            strategy.observe(idle(), at: resumed, processPause: ProcessPause(from: stopped, to: resumed), pinged: start)
                == .nothing
        )
        #expect(strategy.observe(idle(), at: resumed + 99 * millisecond, pinged: start) == .nothing)
        #expect(strategy.observe(idle(), at: resumed + 100 * millisecond, pinged: start) == .stalled)
        let pong = resumed + 120 * millisecond
        guard case .ended(let stallInterval) = strategy.observe(idle(pong: pong), at: pong, pinged: start) else {
            Issue.record("no end")
            return
        }
        #expect(stallInterval.length == 170 * millisecond && stallInterval.excluded == 3000 * millisecond)
    }

    @Test func `time before ignoreBefore does not count and causes no ping`() {
        var strategy = PingStrategy(rule: standardRule, whileWaiting: false)
        let ignoreBefore = start + 60 * millisecond
        for time: UInt64 in [0, 50] {
            _ = strategy.observe(idle(), at: start + time * millisecond, ignoreBefore: ignoreBefore)
            #expect(!strategy.wantsPing)
        }
        _ = strategy.observe(idle(), at: start + 100 * millisecond, ignoreBefore: ignoreBefore)
        #expect(strategy.wantsPing)

        var late = stalled()
        let reported = start + 160 * millisecond
        late.begin(notBefore: reported)
        #expect(!late.isStalled)
        #expect(late.observe(idle(), at: reported + 149 * millisecond, pinged: start, ignoreBefore: reported) == .suspected)
        #expect(late.observe(idle(), at: reported + 150 * millisecond, pinged: start, ignoreBefore: reported) == .stalled)
        #expect(late.interval?.since == reported)
    }

    @Test func `without an earlier answer a stall begins with its ping`() {
        var strategy = stalled()
        let pong = start + 200 * millisecond
        guard case .ended(let stallInterval) = strategy.observe(idle(pong: pong), at: pong, pinged: start) else {
            Issue.record("no end")
            return
        }
        #expect(stallInterval.lengthAtMost == 200 * millisecond)
    }
}
