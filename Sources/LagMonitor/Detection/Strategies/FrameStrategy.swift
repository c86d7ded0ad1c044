internal import LagActivity
internal import LagModel

/// A tick at a fixed rate on the loop, as a display needs it: N missed ticks in a row are a stall.
///
/// The stall begins with the first tick that was due and did not come. The rate that was reached is a separate figure, kept with
/// the ticks (``TickCell``).
package struct FrameStrategy: DetectionStrategy {
    package let rule: WatchRules.Frame
    package private(set) var interval: StallInterval?
    package private(set) var isStalled = false
    /// The last tick that was seen, or when the loop was first seen without one; 0: no ticks are expected.
    private var last: UInt64 = 0

    package init(rule: WatchRules.Frame) { self.rule = rule }

    /// From the first missed tick to the moment when the last of N is a whole period overdue.
    package var thresholdNanoseconds: UInt64 { rule.periodNanoseconds.saturatingProduct(UInt64(rule.missed)) }

    package var isSuspicious: Bool {
        isStalled || (interval.map { $0.length(at: $0.until) * 2 >= thresholdNanoseconds } ?? false)
    }

    package var nextPoll: UInt64? {
        guard let interval else { return last == 0 ? nil : last.saturatingSum(thresholdNanoseconds) }
        return isStalled ? interval.until.saturatingSum(rule.periodNanoseconds) : interval.time(ofLength: thresholdNanoseconds)
    }

    package mutating func observe(_ observation: Observation, ignoreBefore: UInt64) -> RuleEvent {
        guard observation.reading.mayAnswer else {
            defer {
                interval = nil
                isStalled = false
                // When ticks are expected again, this counts as the first time it is seen.
                last = 0
            }
            guard isStalled, let interval else { return .nothing }
            return .ended(interval.ended(at: interval.until, latest: observation.now, observation.processPause))
        }
        // Measuring begins when the loop is first seen, not with its first tick: that may be the one that is missed.
        let ticked = max(observation.tickedNanoseconds, last == 0 ? max(observation.now, ignoreBefore) : last)
        if ticked > last {
            defer {
                last = ticked
                isStalled = false
                interval = late(ticked, observation, ignoreBefore: ignoreBefore)
            }
            guard isStalled, let interval else { return .nothing }
            return .ended(interval.ended(at: interval.until, latest: ticked, observation.processPause))
        }
        guard var present = interval else {
            interval = late(ticked, observation, ignoreBefore: ignoreBefore)
            return evaluate(observation)
        }
        present.begin(notBefore: ignoreBefore)
        present.extend(at: observation.now, observation.processPause)
        interval = present
        return evaluate(observation)
    }

    package mutating func begin(notBefore ignoreBefore: UInt64) {
        interval?.begin(notBefore: ignoreBefore)
        isStalled = false
    }

    /// The interval since the tick that should have followed, if that is overdue.
    private func late(_ ticked: UInt64, _ observation: Observation, ignoreBefore: UInt64) -> StallInterval? {
        let due = ticked.saturatingSum(rule.periodNanoseconds)
        guard observation.now > due else { return nil }
        return StallInterval(
            since: max(due, ignoreBefore),
            earliest: max(ticked, ignoreBefore),
            at: observation.now,
            observation.processPause
        )
    }

    private mutating func evaluate(_ observation: Observation) -> RuleEvent {
        guard !isStalled, let interval, interval.length(at: observation.now) >= thresholdNanoseconds else { return .nothing }
        isStalled = true
        return .stalled
    }
}
