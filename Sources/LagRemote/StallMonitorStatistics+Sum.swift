package import LagMonitor

extension StallMonitorStatistics {
    /// Adds up the counts of several monitors, except pauses, which are not per monitor.
    package static func += (left: inout StallMonitorStatistics, right: StallMonitorStatistics) {
        left.stalls += right.stalls
        left.reported += right.reported
        left.dropped += right.dropped
        left.suppressed += right.suppressed
        left.recurring += right.recurring
        left.dismissed += right.dismissed
    }
}
