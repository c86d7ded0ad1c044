internal import LagActivity
public import LagMonitor

extension StallRecord {
    /// A record like that of a real stall of this kind, for a test or a preview that only needs a record.
    ///
    /// ```swift
    /// import LagMonitor
    /// import LagMonitorTestKit
    ///
    /// let record = StallRecord.sample(duration: .seconds(2), ScriptedWork(.lock, in: ["Cache.load()", "main"]))
    /// ```
    /// - Parameters:
    ///   - number: gives it a distinct `id` and `seq`.
    ///   - work: the cause and the place.
    public static func sample(
        loop: String = "main",
        duration: Duration = .milliseconds(400),
        threshold: Duration = .milliseconds(150),
        phase: Phase = .end,
        kind: Kind = .callout,
        severity: Severity = .warning,
        number: UInt64 = 1,
        _ work: ScriptedWork = .init()
    ) -> StallRecord {
        // 2026-01-01T00:00:00Z
        let start: Int64 = 1_767_225_600_000_000_000
        var record = StallRecord(
            id: StallID(startRealtimeNanoseconds: start, randomHigh: 0, randomLow: number),
            startRealtimeNanoseconds: start,
            startMonotonicNanoseconds: 1_000_000_000_000,
            durationNanoseconds: UInt64(max(0, duration.wholeNanoseconds)),
            thresholdNanoseconds: UInt64(max(0, threshold.wholeNanoseconds)),
            phase: phase,
            kind: kind,
            loop: loop,
            threadID: 4711
        )
        record.foundBy = [kind]
        record.threadName = loop
        record.severity = severity
        record.sequence = number
        record.activity = "before_sources"
        work.enrich(&record)
        ManualMonitor.describe(&record)
        return record
    }
}
