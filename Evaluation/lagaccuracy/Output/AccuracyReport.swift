/// The lines of one condition: compares each detector's detections with the same truth.
struct AccuracyReport {
    let condition: Condition
    let options: RunOptions
    let outcome: ConditionRun.Outcome

    var lines: [AccuracyLine] {
        let report = outcome.report
        let truths = Truth.all(in: report, observedStops: outcome.observedStops + standstills)
        func line(_ detector: String, _ detections: [Detection], wakes: UInt64) -> AccuracyLine {
            AccuracyLine(
                condition: condition,
                detector: detector,
                score: Score(truths: truths, detections: detections),
                notes: [
                    ("wakes_per_s", perSecond(Double(wakes), of: report.nanoseconds)),
                    ("run_delay_ms", AccuracyLine.milliseconds(report.runDelayNanoseconds)),
                    ("standstills", outcome.standstills.map { "\($0.count)" } ?? "-"),
                    ("standstill_ms", outcome.standstills.map { AccuracyLine.milliseconds(Self.length($0)) } ?? "-"),
                ] + notes
            )
        }
        return [
            line(AccuracyLine.monitor, Detection.all(from: report.monitorReports), wakes: report.monitorWakes),
            line(
                AccuracyLine.semaphoreWatchdog,
                Detection.all(from: report.semaphoreWatchdog),
                wakes: report.semaphoreWatchdogWakes
            ),
            line(
                AccuracyLine.semaphoreWatchdogBeforeWaiting,
                Detection.all(from: report.semaphoreWatchdogBeforeWaiting),
                wakes: report.semaphoreWatchdogWakes
            ),
        ]
    }

    private var notes: [(key: String, value: String)] {
        switch condition {
        case .calm, .starved: []
        case .busy:
            [
                (
                    "callbacks_per_s",
                    perSecond(Double(outcome.report.callbacks), of: outcome.report.nanoseconds - stalledNanoseconds)
                )
            ]
        case .stopped:
            [
                ("stops", "\(outcome.observedStops.count)"),
                ("stopped_s", AccuracyLine.format(Double(Self.length(outcome.observedStops)) / 1_000_000_000, decimals: 1)),
            ]
        case .stepped: [("steps", "\(outcome.report.clockSteps)"), ("clock", options.setsClock ? "set" : "faked")]
        }
    }

    /// The standstills outside the stops by the parent, whose time is already excluded.
    private var standstills: [ObservedStop] {
        (outcome.standstills ?? []).filter { outcome.observedStops.possiblyStopped(from: $0.asked, to: $0.running) == 0 }
    }

    private static func length(_ stops: [ObservedStop]) -> UInt64 { stops.reduce(0) { $0 + ($1.continued - $1.stopped) } }

    /// The time in which the loop cannot run other callbacks; during a starvation it can.
    private var stalledNanoseconds: UInt64 {
        min(outcome.report.nanoseconds, outcome.report.injected.reduce(0) { $0 + ($1.isStarvation ? 0 : $1.end - $1.begin) })
    }

    private func perSecond(_ count: Double, of nanoseconds: UInt64) -> String {
        AccuracyLine.format(count * 1_000_000_000 / Double(max(1, nanoseconds)), decimals: 1)
    }
}
