internal import LagActivity
internal import LagModel

/// One sample of the stack an interval: if N samples in a row have the same functions on top while the loop works, it is a stall.
///
/// It spans callouts: a loop that calls the same slow function repeatedly is found too. Its certain duration is from the first of
/// the samples to the last one that was alike.
package struct SamplingStrategy: DetectionStrategy {
    package let rule: WatchRules.Sampling
    package private(set) var interval: StallInterval?
    package private(set) var isStalled = false
    /// Samples in a row that were alike.
    package private(set) var alike = 0
    private var key: SampleKey?
    /// When the next sample of the stack is due; nil: the loop does not work.
    private var next: UInt64?

    package init(rule: WatchRules.Sampling) { self.rule = rule }

    package var thresholdNanoseconds: UInt64 { rule.intervalNanoseconds.saturatingProduct(UInt64(rule.samples - 1)) }

    package var isSuspicious: Bool { isStalled }

    package var nextPoll: UInt64? { next }

    package func wantsSample(_ reading: BeaconReading, at now: UInt64) -> Bool {
        reading.isWorking && next.map { $0 <= now } ?? false
    }

    package mutating func observe(_ observation: Observation, ignoreBefore: UInt64) -> RuleEvent {
        guard observation.reading.isWorking else {
            next = nil
            return end(at: observation.now, observation.processPause)
        }
        if next == nil { next = observation.now.saturatingSum(rule.intervalNanoseconds) }
        guard let sample = observation.sample else {
            // A failed sample is ignored.
            if let due = next, due <= observation.now { next = observation.now.saturatingSum(rule.intervalNanoseconds) }
            interval?.add(observation.processPause, until: observation.now)
            return .nothing
        }
        next = observation.now.saturatingSum(rule.intervalNanoseconds)
        guard sample == key, var present = interval else {
            let event = end(at: observation.now, observation.processPause)
            key = sample
            alike = 1
            interval = StallInterval(since: max(observation.now, ignoreBefore), at: observation.now, nil)
            return event
        }
        present.begin(notBefore: ignoreBefore)
        present.extend(at: observation.now, observation.processPause)
        interval = present
        alike += 1
        guard !isStalled, alike >= rule.samples, present.length(at: observation.now) >= thresholdNanoseconds else {
            return .nothing
        }
        isStalled = true
        return .stalled
    }

    package mutating func begin(notBefore ignoreBefore: UInt64) {
        isStalled = false
        interval = nil
        key = nil
        alike = 0
    }

    private mutating func end(at now: UInt64, _ processPause: ProcessPause?) -> RuleEvent {
        defer {
            isStalled = false
            interval = nil
            key = nil
            alike = 0
        }
        guard isStalled, let interval else { return .nothing }
        return .ended(interval.ended(at: interval.until, latest: now, processPause))
    }
}
