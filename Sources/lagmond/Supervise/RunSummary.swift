internal import LagMonitor

/// The last line of a run: the monitor's counts.
///
/// The first four numbers are always present, the others only if they are not zero. Times are whole milliseconds,
/// rounded down.
struct RunSummary: CustomStringConvertible {
    let description: String

    /// - Parameters:
    ///   - kept: lines that are kept on disk for the next start.
    ///   - lost: records that the output dropped after the last monitor had counted.
    ///   - stops: the stops of threads of other processes, in µs: count, median, 99th percentile, maximum.
    init(
        _ statistics: StallMonitorStatistics,
        kept: Int? = nil,
        lost: UInt64 = 0,
        stops: (count: UInt64, median: UInt32, p99: UInt32, longest: UInt32)? = nil
    ) {
        let pauses = statistics.pauses
        let always = [
            ("stalls", statistics.stalls), ("reported", statistics.reported), ("dropped", statistics.dropped + lost),
            ("suppressed", statistics.suppressed),
        ]
        let sometimes: [(String, UInt64)] = [
            ("kept", UInt64(kept ?? 0)),
            ("recurring", statistics.recurring), ("dismissed", statistics.dismissed),
            ("process_pauses", pauses.processPauses), ("stopped_ms", Self.milliseconds(pauses.paused)),
            ("throttled_ms", Self.milliseconds(pauses.throttled)),
            ("suspensions", pauses.suspensions), ("suspended_ms", Self.milliseconds(pauses.suspended)),
            ("clock_steps", pauses.clockSteps),
            ("stops", stops?.count ?? 0), ("stop_us_p50", UInt64(stops?.median ?? 0)), ("stop_us_p99", UInt64(stops?.p99 ?? 0)),
            ("stop_us_max", UInt64(stops?.longest ?? 0)),
        ]
        description = (always + sometimes.filter { $0.1 != 0 }).map { "\($0.0)=\($0.1)" }.joined(separator: " ")
    }

    private static func milliseconds(_ duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = duration.components
        return UInt64(clamping: seconds) * 1000 + UInt64(clamping: attoseconds / 1_000_000_000_000_000)
    }
}
