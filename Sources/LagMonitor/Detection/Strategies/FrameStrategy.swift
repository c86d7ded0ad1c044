internal import LagActivity

/// A tick at a fixed rate on the loop, as a display would ask for: N missed in a row are a stall.
///
/// It begins with the first tick that was due and did not come. The rate that was reached is a figure of its own, kept where the
/// ticks are (``TickCell``).
package struct FrameStrategy: DetectionStrategy {
    package static let kind = StallKind.frame

    package let rule: WatchRules.Frame
    package private(set) var span: Span?
    package private(set) var isStalled = false
    /// The last tick that was seen, or when the loop was first seen without; 0: no ticks are expected.
    private var last: UInt64 = 0

    package init(rule: WatchRules.Frame) { self.rule = rule }

    /// From the first missed tick to the moment when the last of N is a whole period overdue.
    package var thresholdNanoseconds: UInt64 { rule.periodNanoseconds.saturatingProduct(UInt64(rule.missed)) }

    package var isSuspicious: Bool { isStalled || (span.map { $0.length(at: $0.seen) * 2 >= thresholdNanoseconds } ?? false) }

    package var nextLook: UInt64? {
        guard let span else { return last == 0 ? nil : last.saturatingSum(thresholdNanoseconds) }
        return isStalled ? span.seen.saturatingSum(rule.periodNanoseconds) : span.time(ofLength: thresholdNanoseconds)
    }

    package mutating func look(_ sight: Sight, floor: UInt64) -> Finding {
        guard sight.reading.mayAnswer else {
            defer {
                span = nil
                isStalled = false
                // When ticks are expected again, it is seen for the first time again.
                last = 0
            }
            guard isStalled, let span else { return .nothing }
            return .ended(Extent(span, until: span.seen, latest: sight.now, sight.blackout))
        }
        // A loop begins to be measured when it is first seen, not when its first tick comes: that may be the one that is missed.
        let ticked = max(sight.tickedNanoseconds, last == 0 ? max(sight.now, floor) : last)
        if ticked > last {
            defer {
                last = ticked
                isStalled = false
                span = late(ticked, sight, floor: floor)
            }
            guard isStalled, let span else { return .nothing }
            return .ended(Extent(span, until: span.seen, latest: ticked, sight.blackout))
        }
        guard var present = span else {
            span = late(ticked, sight, floor: floor)
            return judge(sight)
        }
        present.begin(notBefore: floor)
        present.goOn(at: sight.now, sight.blackout)
        span = present
        return judge(sight)
    }

    package mutating func begin(notBefore floor: UInt64) {
        span?.begin(notBefore: floor)
        isStalled = false
    }

    /// What began with the tick that should have followed, if that is overdue.
    private func late(_ ticked: UInt64, _ sight: Sight, floor: UInt64) -> Span? {
        let due = ticked.saturatingSum(rule.periodNanoseconds)
        guard sight.now > due else { return nil }
        return Span(since: max(due, floor), earliest: max(ticked, floor), at: sight.now, sight.blackout)
    }

    private mutating func judge(_ sight: Sight) -> Finding {
        guard !isStalled, let span, span.length(at: sight.now) >= thresholdNanoseconds else { return .nothing }
        isStalled = true
        return .stalled
    }
}
