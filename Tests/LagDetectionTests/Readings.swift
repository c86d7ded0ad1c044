import LagActivity

@testable import LagDetection

let millisecond: UInt64 = 1_000_000

/// The default rule: 50 ms × 3.
let standardRule = DetectionRule(intervalNanoseconds: 50 * millisecond, timeouts: 3)

extension BeaconReading {
    init(_ sequence: UInt64, _ activity: LoopActivity, at callout: UInt64 = 0, answered: UInt64 = 0) {
        self.init(
            word: sequence << 8 | UInt64(activity.rawValue),
            calloutNanoseconds: callout,
            answeredNanoseconds: answered
        )
    }
}

extension StallDetector {
    /// A detector that has just found a stall of `reading` by ticks that began at its callout.
    static func stalled(_ reading: BeaconReading, rule: DetectionRule = standardRule) -> StallDetector {
        var detector = StallDetector(rule: rule)
        let start = reading.calloutNanoseconds
        _ = detector.look(reading, at: start, counts: false)
        for count in 1...UInt64(rule.timeouts) {
            _ = detector.look(reading, at: start + count * rule.intervalNanoseconds, counts: true)
        }
        return detector
    }
}
