internal import LagActivity

/// Looks at the stack an interval: the same function(s) on top in N looks in a row, while the loop works, are a stall.
///
/// It spans callouts: a loop that calls the same slow function again and again is found too. It lasts for certain from the first
/// of the looks to the last one that was alike.
package struct SamplingStrategy: DetectionStrategy {
    package static let kind = StallKind.sample

    package let rule: WatchRules.Sampling
    package private(set) var span: Span?
    package private(set) var isStalled = false
    /// Looks in a row that were alike.
    package private(set) var alike = 0
    private var key: SampleKey?
    /// When the next look at the stack is due; nil: the loop does not work.
    private var next: UInt64?

    package init(rule: WatchRules.Sampling) { self.rule = rule }

    package var thresholdNanoseconds: UInt64 { rule.intervalNanoseconds.saturatingProduct(UInt64(rule.samples - 1)) }

    package var isSuspicious: Bool { isStalled }

    package var nextLook: UInt64? { next }

    /// Whether a look at the stack is due.
    package func wantsSample(_ reading: BeaconReading, at now: UInt64) -> Bool {
        reading.isWorking && next.map { $0 <= now } ?? false
    }

    package mutating func look(_ sight: Sight, floor: UInt64) -> Finding {
        guard sight.reading.isWorking else {
            next = nil
            return end(at: sight.now, sight.blackout)
        }
        if next == nil { next = sight.now.saturatingSum(rule.intervalNanoseconds) }
        guard let sample = sight.sample else {
            // A look that failed says neither this nor that.
            if let due = next, due <= sight.now { next = sight.now.saturatingSum(rule.intervalNanoseconds) }
            span?.add(sight.blackout, until: sight.now)
            return .nothing
        }
        next = sight.now.saturatingSum(rule.intervalNanoseconds)
        guard sample == key, var present = span else {
            let finding = end(at: sight.now, sight.blackout)
            key = sample
            alike = 1
            span = Span(since: max(sight.now, floor), at: sight.now, nil)
            return finding
        }
        present.begin(notBefore: floor)
        present.goOn(at: sight.now, sight.blackout)
        span = present
        alike += 1
        guard !isStalled, alike >= rule.samples, present.length(at: sight.now) >= thresholdNanoseconds else { return .nothing }
        isStalled = true
        return .stalled
    }

    package mutating func begin(notBefore floor: UInt64) {
        isStalled = false
        span = nil
        key = nil
        alike = 0
    }

    private mutating func end(at now: UInt64, _ blackout: Blackout?) -> Finding {
        defer {
            isStalled = false
            span = nil
            key = nil
            alike = 0
        }
        guard isStalled, let span else { return .nothing }
        return .ended(Extent(span, until: span.seen, latest: now, blackout))
    }
}
