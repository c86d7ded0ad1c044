internal import LagActivity
internal import LagOutput

// What the settings mean to the limiter. All of checked values.
extension RecordLimits.Rate {
    var tokens: TokenRate {
        TokenRate(burst: UInt64(max(1, burst)), intervalNanoseconds: UInt64(max(0, interval.wholeNanoseconds)))
    }
}

extension RecordLimits {
    /// Of checked limits.
    var limiter: RecordLimiter {
        RecordLimiter(
            perFingerprint: perFingerprint?.tokens,
            overall: overall?.tokens,
            quietNanoseconds: UInt64(max(0, quiet.wholeNanoseconds))
        )
    }
}

extension RecurrenceRule {
    /// Of a checked rule.
    var detector: RecurrenceDetector {
        RecurrenceDetector(count: count, windowNanoseconds: UInt64(max(0, window.wholeNanoseconds)))
    }
}
