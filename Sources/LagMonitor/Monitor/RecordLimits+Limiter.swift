internal import LagActivity
internal import LagOutput

// Converts the settings for the limiter. All values must have been checked.
extension RecordLimits.Rate {
    var tokens: TokenRate {
        TokenRate(burst: UInt64(max(1, burst)), intervalNanoseconds: UInt64(max(0, interval.wholeNanoseconds)))
    }
}

extension RecordLimits {
    /// Requires checked limits.
    var limiter: RecordLimiter {
        RecordLimiter(
            perFingerprint: perFingerprint?.tokens,
            overall: overall?.tokens,
            quietNanoseconds: UInt64(max(0, quiet.wholeNanoseconds))
        )
    }
}

extension RecurrenceRule {
    /// Requires a checked rule.
    var detector: RecurrenceDetector {
        RecurrenceDetector(count: count, windowNanoseconds: UInt64(max(0, window.wholeNanoseconds)))
    }
}
