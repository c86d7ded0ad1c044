internal import LagActivity

/// Many callouts in a row, each of them short: the activity word moves, but the loop has not come to a rest for the
/// threshold, so whoever waits for it to be idle waits that long.
///
/// A rest is a wait for events (however short), the end of the run, or an expected block; the beacon tells when the last
/// one ended. A callout that is a stall by itself is not part of it: see ``LoopJudge``.
package struct StarvationStrategy: DetectionStrategy {
    package static let kind = StallKind.starvation

    package let thresholdNanoseconds: UInt64
    package private(set) var span: Span?
    package private(set) var isStalled = false
    /// When the rest ended after which `span` began.
    private var woke: UInt64 = 0
    /// Whether the last look found the loop between two runs. A loop that is run for one source at a time is there for moments.
    private var isBetweenRuns = false

    package init(thresholdNanoseconds: UInt64) { self.thresholdNanoseconds = thresholdNanoseconds }

    package var isSuspicious: Bool { isStalled }

    package var nextLook: UInt64? { isStalled ? nil : span?.time(ofLength: thresholdNanoseconds) }

    package mutating func look(_ sight: Sight, floor: UInt64) -> Finding {
        let reading = sight.reading
        if reading.activity == .notRunning, span != nil, reading.wokeNanoseconds == woke, !isBetweenRuns {
            isBetweenRuns = true
            span?.add(sight.blackout, until: sight.now)
            return .nothing
        }
        isBetweenRuns = false
        // A loop that tells no wakes cannot be judged; one in the future is none.
        let isBusy = reading.isWorking && reading.wokeNanoseconds > 0 && reading.wokeNanoseconds <= sight.now
        guard isBusy, var present = span, reading.wokeNanoseconds == woke else {
            let finding = end(sight)
            woke = reading.wokeNanoseconds
            span = isBusy ? Span(since: max(woke, floor), at: sight.now, sight.blackout) : nil
            return finding
        }
        present.begin(notBefore: floor)
        present.goOn(at: sight.now, sight.blackout)
        span = present
        guard !isStalled, present.length(at: sight.now) >= thresholdNanoseconds else { return .nothing }
        isStalled = true
        return .stalled
    }

    package mutating func begin(notBefore floor: UInt64) {
        span?.begin(notBefore: floor)
        isStalled = false
    }

    /// The loop has rested since the last look.
    private mutating func end(_ sight: Sight) -> Finding {
        guard isStalled, let span else { return .nothing }
        isStalled = false
        var end = max(sight.now, span.since)
        // It answers an arming for that with its rest; without one, its next wake is an upper bound.
        if let answer = sight.reading.answer(after: span.seen, since: span.since) { end = min(end, answer) }
        if sight.reading.wokeNanoseconds > span.since { end = min(end, sight.reading.wokeNanoseconds) }
        return .ended(Extent(span, until: end, sight.blackout))
    }
}
