internal import LagActivity
internal import LagModel

/// A task is submitted to the loop; if it is not answered in time, the loop is stalled. Two rules differ in the time of the ping:
/// - *while waiting* (``whileWaiting``): when the loop publishes that it waits. This finds what is not published as an activity:
///   a loop that is stuck in its wait, or in unpublished work.
/// - *periodic*: an interval after the last answer, regardless of what the loop publishes. It needs no observer, so it works on
///   queues.
///
/// A stall is known to have begun when the ping was sent to the loop, at the latest, and not before the last answer. Every time
/// between the two is equally likely, so the middle is used, over at most one interval.
package struct PingStrategy: DetectionStrategy {
    private enum State: Sendable, Equatable {
        /// The next ping is due then.
        case quiet(next: UInt64)
        /// Being sent to the loop since then: the time for sending is not the loop's.
        case posting(since: UInt64, seen: UInt64)
        case asked(StallInterval, at: UInt64)
        case stalled(StallInterval, at: UInt64)
    }

    package let rule: TimeoutRule
    package let whileWaiting: Bool
    private var state = State.quiet(next: 0)
    /// When the loop last answered.
    private var lastPong: UInt64 = 0
    /// Whether the last observation requested a ping.
    package private(set) var wantsPing = false

    package init(rule: TimeoutRule, whileWaiting: Bool) {
        self.rule = rule
        self.whileWaiting = whileWaiting
    }

    package var thresholdNanoseconds: UInt64 { rule.thresholdNanoseconds }

    package var interval: StallInterval? {
        switch state {
        case .quiet, .posting: nil
        case .asked(let interval, _), .stalled(let interval, _): interval
        }
    }

    package var isStalled: Bool { if case .stalled = state { true } else { false } }

    package var isSuspicious: Bool {
        switch state {
        case .quiet, .posting: false
        case .asked(let interval, _): interval.length(at: interval.until) >= rule.intervalNanoseconds
        case .stalled: true
        }
    }

    package var nextPoll: UInt64? {
        switch state {
        case .quiet(let next): next
        case .posting(_, let seen): seen.saturatingSum(rule.intervalNanoseconds)
        case .asked(let interval, _):
            min(interval.time(ofLength: rule.thresholdNanoseconds), interval.until.saturatingSum(rule.intervalNanoseconds))
        case .stalled(let interval, _): interval.until.saturatingSum(rule.intervalNanoseconds)
        }
    }

    package mutating func observe(_ observation: Observation, ignoreBefore: UInt64) -> RuleEvent {
        wantsPing = false
        guard observation.reading.mayAnswer else {
            // It does not run, or no answer is expected now: the ping is cancelled.
            defer { state = .quiet(next: observation.now.saturatingSum(rule.intervalNanoseconds)) }
            guard case .stalled(let interval, _) = state else { return .nothing }
            return .ended(interval.ended(at: interval.until, latest: observation.now, observation.processPause))
        }
        switch state {
        case .quiet(let next):
            // While it is quiet, every moment is as good as an answer.
            lastPong = max(lastPong, observation.reading.pongNanoseconds)
            guard observation.now >= next, observation.now >= ignoreBefore,
                !whileWaiting || observation.reading.activity == .waiting
            else {
                if observation.now >= next { state = .quiet(next: observation.now.saturatingSum(rule.intervalNanoseconds)) }
                return .nothing
            }
            wantsPing = true
            state = .posting(since: observation.now, seen: observation.now)
            return .nothing
        case .posting(let since, _):
            guard observation.pingedNanoseconds >= since else {
                state = .posting(since: since, seen: observation.now)
                return .nothing
            }
            // The last sign of life: an answer, or the activity after which it published that it waits.
            let alive = max(lastPong, whileWaiting ? observation.reading.calloutNanoseconds : 0)
            let pinged = observation.pingedNanoseconds
            // Pings are sent once per interval: if the last sign of life is older, there was no ping meanwhile.
            let unknown = min(pinged.saturatingDifference(alive), rule.intervalNanoseconds)
            let interval = StallInterval(
                since: pinged,
                earliest: alive > 0 ? max(alive, ignoreBefore) : nil,
                likely: alive > 0 ? max(pinged - unknown / 2, ignoreBefore) : nil,
                seen: observation.pingedNanoseconds
            )
            // It may have answered before the ping was recorded as sent.
            return wait(interval, at: since, observation, ignoreBefore: ignoreBefore)
        case .asked(let interval, let asked): return wait(interval, at: asked, observation, ignoreBefore: ignoreBefore)
        case .stalled(var interval, let asked):
            if let pong = answer(to: asked, observation) {
                lastPong = pong
                state = .quiet(next: observation.now.saturatingSum(rule.intervalNanoseconds))
                return .ended(interval.ended(at: pong, observation.processPause))
            }
            interval.extend(at: observation.now, observation.processPause)
            state = .stalled(interval, at: asked)
            return .nothing
        }
    }

    package mutating func begin(notBefore ignoreBefore: UInt64) {
        switch state {
        case .quiet, .posting: break
        case .asked(var interval, let asked), .stalled(var interval, let asked):
            interval.begin(notBefore: ignoreBefore)
            state = .asked(interval, at: asked)
        }
    }

    private mutating func wait(_ present: StallInterval, at asked: UInt64, _ observation: Observation, ignoreBefore: UInt64)
        -> RuleEvent
    {
        var interval = present
        if let pong = answer(to: asked, observation) {
            lastPong = pong
            state = .quiet(next: max(asked.saturatingSum(rule.intervalNanoseconds), observation.now))
            return .nothing
        }
        interval.begin(notBefore: ignoreBefore)
        let wasSuspicious = isSuspicious
        interval.extend(at: observation.now, observation.processPause)
        guard interval.length(at: observation.now) >= rule.thresholdNanoseconds else {
            state = .asked(interval, at: asked)
            return isSuspicious && !wasSuspicious ? .suspected : .nothing
        }
        state = .stalled(interval, at: asked)
        return .stalled
    }

    private func answer(to asked: UInt64, _ observation: Observation) -> UInt64? {
        let pong = observation.reading.pongNanoseconds
        return pong >= asked && pong > 0 ? pong : nil
    }
}
