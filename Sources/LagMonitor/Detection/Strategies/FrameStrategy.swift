internal import LagActivity

/// A tick at a fixed rate on the loop, as a display would ask for: N missed in a row are a stall.
///
/// It begins with the first tick that was due and did not come. The rate that was reached is a figure of its own, kept where the
/// ticks are (``TickCell``).
package struct FrameStrategy: DetectionStrategy {
    package static let kind = StallKind.frame

    package let rule: WatchRules.Frame
    package private(set) var span: OngoingInterval?
    package private(set) var isStalled = false
    /// The last tick that was seen, or when the loop was first seen without; 0: no ticks are expected.
    private var last: UInt64 = 0

    package init(rule: WatchRules.Frame) { self.rule = rule }

    /// From the first missed tick to the moment when the last of N is a whole period overdue.
    package var thresholdNanoseconds: UInt64 { rule.periodNanoseconds.saturatingProduct(UInt64(rule.missed)) }

    package var isSuspicious: Bool { isStalled || (span.map { $0.length(at: $0.seen) * 2 >= thresholdNanoseconds } ?? false) }

    package var nextPoll: UInt64? {
        guard let span else { return last == 0 ? nil : last.saturatingSum(thresholdNanoseconds) }
        return isStalled ? span.seen.saturatingSum(rule.periodNanoseconds) : span.time(ofLength: thresholdNanoseconds)
    }

    package mutating func observe(_ observation: Observation, ignoreBefore: UInt64) -> DetectorEvent {
        guard observation.reading.mayAnswer else {
            defer {
                span = nil
                isStalled = false
                // When ticks are expected again, it is seen for the first time again.
                last = 0
            }
            guard isStalled, let span else { return .nothing }
            return .ended(StallInterval(span, until: span.seen, latest: observation.now, observation.processPause))
        }
        // A loop begins to be measured when it is first seen, not when its first tick comes: that may be the one that is missed.
        let ticked = max(observation.tickedNanoseconds, last == 0 ? max(observation.now, ignoreBefore) : last)
        if ticked > last {
            defer {
                last = ticked
                isStalled = false
                span = late(ticked, observation, ignoreBefore: ignoreBefore)
            }
            guard isStalled, let span else { return .nothing }
            return .ended(StallInterval(span, until: span.seen, latest: ticked, observation.processPause))
        }
        guard var present = span else {
            span = late(ticked, observation, ignoreBefore: ignoreBefore)
            return evaluate(observation)
        }
        present.begin(notBefore: ignoreBefore)
        present.extend(at: observation.now, observation.processPause)
        span = present
        return evaluate(observation)
    }

    package mutating func begin(notBefore ignoreBefore: UInt64) {
        span?.begin(notBefore: ignoreBefore)
        isStalled = false
    }

    /// What began with the tick that should have followed, if that is overdue.
    private func late(_ ticked: UInt64, _ observation: Observation, ignoreBefore: UInt64) -> OngoingInterval? {
        let due = ticked.saturatingSum(rule.periodNanoseconds)
        guard observation.now > due else { return nil }
        return OngoingInterval(since: max(due, ignoreBefore), earliest: max(ticked, ignoreBefore), at: observation.now, observation.processPause)
    }

    private mutating func evaluate(_ observation: Observation) -> DetectorEvent {
        guard !isStalled, let span, span.length(at: observation.now) >= thresholdNanoseconds else { return .nothing }
        isStalled = true
        return .stalled
    }
}
