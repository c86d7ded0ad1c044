/// How many records are reported when there are many.
///
/// What is beyond a limit is written nowhere and given to no handler; it is counted (`suppressed_total`, and
/// ``StallMonitorStatistics/suppressed``) and summed up in one `event` `suppressed` line a fingerprint, when it is over or after
/// ``quiet``. What counts stalls (metrics, ``StallSource/onStall(queue:includesSuppressed:_:)``) has them all the same. A hang's `begin` line is written however
/// often its function stalled before, but for a flood of hangs: there are as many of these as ``overall`` allows, besides all others. Once it is
/// written, its `end` line is written too, and an `abandoned` line is never held back.
public struct RecordLimits: Sendable, Equatable {
    /// So many at once, then one an interval.
    public struct Rate: Sendable, Equatable {
        /// Records at once; 1 to 10,000.
        public var burst: Int
        /// After so long there may be one more; 1 ms to one day.
        public var interval: Duration

        /// Checked by ``StallMonitor/start()``.
        public init(burst: Int, interval: Duration) {
            self.burst = burst
            self.interval = interval
        }
    }

    /// For the records of one fingerprint; nil: no such limit. Of 256 fingerprints it is known how many there were; one that
    /// makes room for another begins anew.
    public var perFingerprint: Rate? = Rate(burst: 10, interval: .seconds(60))
    /// For all records together; nil: no such limit.
    public var overall: Rate? = Rate(burst: 60, interval: .seconds(1))
    /// When nothing was held back of a fingerprint for so long, what was before is summed up; 1 ms to one day.
    public var quiet: Duration = .seconds(60)

    /// The defaults: 10 a minute for each fingerprint, 60 a second in all.
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
