internal import LagActivity

/// Looks at the stack an interval: the same function(s) on top in N looks in a row, while the loop works, are a stall.
///
/// It spans callouts: a loop that calls the same slow function again and again is found too. It lasts for certain from the first
/// of the looks to the last one that was alike.
package struct SamplingStrategy: DetectionStrategy {
    package static let kind = StallKind.sample

    package let rule: WatchRules.Sampling
    package private(set) var span: OngoingInterval?
    package private(set) var isStalled = false
    /// Looks in a row that were alike.
    package private(set) var alike = 0
    private var key: SampleKey?
    /// When the next look at the stack is due; nil: the loop does not work.
    private var next: UInt64?

    package init(rule: WatchRules.Sampling) { self.rule = rule }

    package var thresholdNanoseconds: UInt64 { rule.intervalNanoseconds.saturatingProduct(UInt64(rule.samples - 1)) }

    package var isSuspicious: Bool { isStalled }

    package var nextPoll: UInt64? { next }

    /// Whether a look at the stack is due.
    package func wantsSample(_ reading: BeaconReading, at now: UInt64) -> Bool {
        reading.isWorking && next.map { $0 <= now } ?? false
    }

    package mutating func observe(_ observation: Observation, ignoreBefore: UInt64) -> DetectorEvent {
        guard observation.reading.isWorking else {
            next = nil
            return end(at: observation.now, observation.processPause)
        }
        if next == nil { next = observation.now.saturatingSum(rule.intervalNanoseconds) }
        guard let sample = observation.sample else {
            // A look that failed says neither this nor that.
            if let due = next, due <= observation.now { next = observation.now.saturatingSum(rule.intervalNanoseconds) }
            span?.add(observation.processPause, until: observation.now)
            return .nothing
        }
        next = observation.now.saturatingSum(rule.intervalNanoseconds)
        guard sample == key, var present = span else {
            let event = end(at: observation.now, observation.processPause)
            key = sample
            alike = 1
            span = OngoingInterval(since: max(observation.now, ignoreBefore), at: observation.now, nil)
            return event
        }
        present.begin(notBefore: ignoreBefore)
        present.extend(at: observation.now, observation.processPause)
        span = present
        alike += 1
        guard !isStalled, alike >= rule.samples, present.length(at: observation.now) >= thresholdNanoseconds else { return .nothing }
        isStalled = true
        return .stalled
    }

    package mutating func begin(notBefore ignoreBefore: UInt64) {
        isStalled = false
        span = nil
        key = nil
        alike = 0
    }

    private mutating func end(at now: UInt64, _ processPause: ProcessPause?) -> DetectorEvent {
        defer {
            isStalled = false
            span = nil
            key = nil
            alike = 0
        }
        guard isStalled, let span else { return .nothing }
        return .ended(StallInterval(span, until: span.seen, latest: now, processPause))
    }
}
