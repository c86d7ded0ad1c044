/// A detector's report of one stall. Nanoseconds, `CLOCK_MONOTONIC`.
struct Detection: Sendable, Equatable {
    /// Nil: the detector does not distinguish the two.
    let stallType: StallType?
    let start: UInt64
    let duration: UInt64
    /// The time that the detector excludes from the duration, because the process could not run.
    var excluded: UInt64 = 0
    let detected: UInt64
    /// The detector's bounds of the duration; nil: the detector reports an exact duration.
    var bounds: ClosedRange<UInt64>?
    /// How often the same detector reported the same stall again.
    var repeats = 0

    var end: UInt64 { start + duration + excluded }

    /// The monitor's report.
    static func all(from monitorReports: [TargetReport.MonitorReport]) -> [Detection] {
        monitorReports.map {
            Detection(
                stallType: $0.isStarvation ? .starvation : .callout,
                start: $0.start,
                duration: $0.duration,
                excluded: $0.excluded,
                detected: $0.detected,
                bounds: $0.bounds,
                repeats: $0.extraLines
            )
        }
    }

    /// The report of the observer-and-semaphore watchdog. It has no duration and no start, so reports without activity of the
    /// loop in between count as one stall, which began a threshold before the first report and lasted until the last.
    static func all(from reports: [TargetReport.SemaphoreWatchdogReport]) -> [Detection] {
        var detections: [Detection] = []
        var index = 0
        while index < reports.count {
            let first = reports[index]
            var last = first
            var repeats = 0
            while index + 1 < reports.count, reports[index + 1].run == first.run {
                index += 1
                last = reports[index]
                repeats += 1
            }
            let threshold = min(SemaphoreWatchdogRule.thresholdNanoseconds, first.time)
            detections.append(
                Detection(
                    stallType: nil,
                    start: first.time - threshold,
                    duration: last.time - first.time + threshold,
                    detected: first.time,
                    repeats: repeats
                )
            )
            index += 1
        }
        return detections
    }
}
