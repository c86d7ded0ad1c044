/// How many records are reported when there are many.
///
/// A record beyond a limit is not written and not passed to a handler. It is counted (`suppressed_total`, and
/// ``StallMonitorStatistics/suppressed``). One `event` `suppressed` line a fingerprint summarizes the records held back, when the
/// flood is over or after ``quiet``. Code that counts stalls (metrics, ``StallSource/onStall(queue:includesSuppressed:_:)``)
/// receives them all the same. A hang's `begin` line is written however often its function stalled before, except in a flood of
/// hangs: ``overall`` also limits these, separately from all other records. Once a `begin` line is written, its `end` line is
/// written too, and an `abandoned` line is never held back.
public struct RecordLimits: Sendable, Equatable {
    /// This many at once, then one per interval.
    public struct Rate: Sendable, Equatable {
        /// Records at once; 1 to 10,000.
        public var burst: Int
        /// After this time there may be one more; 1 ms to one day.
        public var interval: Duration

        /// Checked by ``StallMonitor/start()``.
        public init(burst: Int, interval: Duration) {
            self.burst = burst
            self.interval = interval
        }
    }

    /// For the records of one fingerprint; nil: no such limit. Counts are kept for 256 fingerprints; the count of an evicted one
    /// starts again.
    public var perFingerprint: Rate? = Rate(burst: 10, interval: .seconds(60))
    /// For all records together; nil: no such limit.
    public var overall: Rate? = Rate(burst: 60, interval: .seconds(1))
    /// When no record of a fingerprint was held back for this long, those before are summarized; 1 ms to one day.
    public var quiet: Duration = .seconds(60)

    /// The defaults: 10 of a fingerprint at once, then one a minute; 60 of all at once, then one a second.
    public init() {}

    /// No limit: every record is reported.
    public static var none: RecordLimits {
        var limits = RecordLimits()
        limits.perFingerprint = nil
        limits.overall = nil
        return limits
    }

    func validate() throws(StallMonitorError) {
        try Self.check(perFingerprint, "limit_burst", "limit_interval_ms")
        try Self.check(overall, "limit_all_burst", "limit_all_interval_ms")
        try SettingBounds.check("limit_quiet_ms", quiet, .milliseconds(1)...(.seconds(86_400)), "1 ms to 1 day")
    }

    private static func check(_ rate: Rate?, _ burst: String, _ interval: String) throws(StallMonitorError) {
        guard let rate else { return }
        try SettingBounds.check(burst, rate.burst, 1...10_000, "1 to 10000")
        try SettingBounds.check(interval, rate.interval, .milliseconds(1)...(.seconds(86_400)), "1 ms to 1 day")
    }
}
