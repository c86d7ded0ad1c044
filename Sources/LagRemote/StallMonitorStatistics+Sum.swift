package import LagMonitor

extension StallMonitorStatistics {
    /// Sums up what several monitors have seen; the pauses are not theirs and not summed.
    package static func += (left: inout StallMonitorStatistics, right: StallMonitorStatistics) {
        left.stalls += right.stalls
        left.reported += right.reported
        left.dropped += right.dropped
        left.suppressed += right.suppressed
        left.recurring += right.recurring
        left.dismissed += right.dismissed
    }
}
