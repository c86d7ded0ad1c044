internal import LagActivity

@testable import LagDetection

let millisecond: UInt64 = 1_000_000

/// The default rule: 50 ms × 3.
let standardRule = TimeoutRule(intervalNanoseconds: 50 * millisecond, timeouts: 3)

extension WatchRules {
    /// Only the default callout rule.
    static let standard = WatchRules.callouts()

    /// Only the callout rule.
    static func callouts(
        _ rule: TimeoutRule = standardRule,
        hang: UInt64 = 5000 * millisecond,
        restore: UInt64 = 0
    ) -> WatchRules {
        var rules = WatchRules(callout: rule)
        rules.hangNanoseconds = hang
        rules.restoreNanoseconds = restore
        return rules
    }
}

extension BeaconReading {
    init(
        _ sequence: UInt64,
        _ activity: LoopActivity,
        at callout: UInt64 = 0,
        answered: UInt64 = 0,
        woke: UInt64 = 0,
        pong: UInt64 = 0
    ) {
        self.init(
            word: sequence << 8 | UInt64(activity.rawValue),
            calloutNanoseconds: callout,
            answeredNanoseconds: answered,
            wokeNanoseconds: woke,
            pongNanoseconds: pong
        )
    }
}

extension ProcessPause {
    /// The whole interval, exactly known.
    init(from: UInt64, to: UInt64) { self.init(from: from, to: to, atLeast: .max, atMost: .max) }
}

extension DetectionStrategy {
    /// A poll after a wait of one interval that ended on time, with no ignored time before.
    mutating func observe(
        _ reading: BeaconReading,
        at now: UInt64,
        isTick: Bool = true,
        processPause: ProcessPause? = nil,
        pinged: UInt64 = 0,
        ticked: UInt64 = 0,
        sample: SampleKey? = nil,
        ignoreBefore: UInt64 = 0
    ) -> RuleEvent {
        observe(
            Observation(
                reading,
                at: now,
                isTick: isTick,
                processPause: processPause,
                pinged: pinged,
                ticked: ticked,
                sample: sample
            ),
            ignoreBefore: ignoreBefore
        )
    }
}

extension CalloutStrategy {
    /// A strategy that has just found a stall of `reading`, with ticks that began at its callout.
    static func stalled(_ reading: BeaconReading, rule: TimeoutRule = standardRule) -> CalloutStrategy {
        var strategy = CalloutStrategy(rule: rule)
        let start = reading.calloutNanoseconds
        _ = strategy.observe(reading, at: start, isTick: false)
        for count in 1...UInt64(rule.timeouts) { _ = strategy.observe(reading, at: start + count * rule.intervalNanoseconds) }
        return strategy
    }
}

extension StallDetector {
    /// A poll after a wait of one interval that ended on time.
    mutating func observe(
        _ reading: BeaconReading,
        at now: UInt64,
        isTick: Bool = true,
        processPause: ProcessPause? = nil,
        pinged: UInt64 = 0,
        ticked: UInt64 = 0,
        sample: SampleKey? = nil
    ) -> DetectorEvents {
        observe(
            Observation(
                reading,
                at: now,
                isTick: isTick,
                processPause: processPause,
                pinged: pinged,
                ticked: ticked,
                sample: sample
            )
        )
    }

    /// A detector that has just found a stall of `reading`, with ticks that began at its callout.
    static func stalled(_ reading: BeaconReading, rules: WatchRules = .standard) -> StallDetector {
        var detector = StallDetector(rules: rules)
        let start = reading.calloutNanoseconds
        _ = detector.observe(reading, at: start, isTick: false)
        for count in 1...UInt64(rules.callout!.timeouts) {
            _ = detector.observe(reading, at: start + count * rules.callout!.intervalNanoseconds)
        }
        return detector
    }
}

extension DetectorEvents: Equatable, ExpressibleByArrayLiteral {
    public init(arrayLiteral events: DetectorEvent...) {
        self.init()
        for event in events { append(event) }
    }

    public static func == (left: DetectorEvents, right: DetectorEvents) -> Bool { left.all == right.all }

    var all: [DetectorEvent] { (0..<count).map { self[$0] } }

    var isSuppressed: Bool { all.contains(.suppressed) }
    var wantsPing: Bool { all.contains(.wantsPing) }

    var opened: StallKind? {
        for case .opened(let stall, _) in all { return stall.lead }
        return nil
    }

    var hanging: (stall: ActiveStall, interval: StallInterval)? {
        for case .hanging(let stall, let interval) in all { return (stall, interval) }
        return nil
    }

    var ended: (stall: ActiveStall, interval: StallInterval)? {
        for case .ended(let stall, let interval) in all { return (stall, interval) }
        return nil
    }
}
