internal import Foundation

/// The printed result of one detector under one condition:
/// `accuracy CONDITION detector=NAME injected=N above=N recall=R false=N duration_err_p50_ms= duration_err_p99_ms=
/// latency_p99_ms=`, then further facts.
struct AccuracyLine: Sendable {
    static let monitor = "lagmonitor"
    static let semaphoreWatchdog = "semaphore_watchdog"
    static let semaphoreWatchdogBeforeWaiting = "semaphore_watchdog_before_waiting"

    let condition: Condition
    let detector: String
    let score: Score
    /// Figures that only this condition or this detector reports.
    var notes: [(key: String, value: String)] = []

    var text: String {
        let fields: [(String, String)] =
            [
                ("detector", detector), ("injected", "\(score.injected)"), ("above", "\(score.above)"),
                ("recall", Self.format(score.recall, decimals: 4)), ("false", "\(score.falseCount)"),
                ("duration_err_p50_ms", Self.milliseconds(Score.percentile(50, of: score.durationErrors))),
                ("duration_err_p99_ms", Self.milliseconds(Score.percentile(99, of: score.durationErrors))),
                ("latency_p99_ms", Self.milliseconds(Score.percentile(99, of: score.latencies))),
                ("repeats", "\(score.repeats)"), ("recall_callout", Self.part(score.calloutRecall)),
                ("recall_starvation", Self.part(score.starvationRecall)), ("below", "\(score.below)"),
                ("between", "\(score.between)"), ("kernel", "\(score.kernel)"),
            ] + bounds + notes.map { ($0.key, $0.value) }
        return "accuracy \(condition.rawValue) " + fields.map { "\($0.0)=\($0.1)" }.joined(separator: " ")
    }

    /// The number of records with bounds of the duration, and of those for which the truth is more than 1 ms outside the bounds.
    private var bounds: [(String, String)] {
        let errors = score.matches.filter(\.truth.isInjected).compactMap(\.boundsError)
        if errors.isEmpty { return [] }
        return [("bounded", "\(errors.count)"), ("bounds_wrong", "\(errors.count { $0 > Self.exactNanoseconds })")]
    }

    /// The missed targets; empty for a detector without targets.
    var missedTargets: [String] {
        guard detector == Self.monitor else { return [] }
        var missed: [String] = []
        if score.recall < 1 { missed.append("recall >= 1") }
        if score.falseCount > 0 { missed.append("false <= 0") }
        if condition.promisesDurations, let error = Score.percentile(99, of: score.durationErrors), error > Self.exactNanoseconds
        {
            missed.append("duration_err_p99_ms <= 1")
        }
        return missed
    }

    /// The target for durations.
    private static let exactNanoseconds: UInt64 = 1_000_000

    /// The failures as text, one line each: misses, false records, detections later than half an
    /// interval, and durations with a larger error than the target.
    func details(since start: UInt64) -> [String] {
        func at(_ time: UInt64) -> String { time >= start ? "at \(Self.milliseconds(time - start)) ms" : "before the start" }
        let missed = score.missed.map {
            "\(condition.rawValue) \(detector) missed: \($0.label), \(at($0.begin)), \(Self.milliseconds($0.least)) ms"
        }
        let unfounded = score.unfounded.map {
            "\(condition.rawValue) \(detector) false: \($0.stallType?.rawValue ?? "report"), \(at($0.start)), \(Self.milliseconds($0.duration)) ms"
        }
        let late = score.matches.filter { $0.latency > Truth.intervalNanoseconds / 2 }.map {
            "\(condition.rawValue) \(detector) late: \($0.truth.label), \(at($0.truth.begin)), \(Self.milliseconds($0.truth.least)) ms, "
                + "\(Self.milliseconds($0.latency)) ms after the threshold"
        }
        let inexact = score.matches.filter { $0.truth.isInjected && $0.durationError > Self.exactNanoseconds }.map {
            "\(condition.rawValue) \(detector) inexact: \($0.truth.label), \(at($0.truth.begin)), "
                + "\(Self.milliseconds($0.truth.least)) to \(Self.milliseconds($0.truth.most)) ms reported as "
                + "\(Self.milliseconds($0.detection.duration)) ms"
                + ($0.detection.bounds.map { ", \(Self.milliseconds($0.lowerBound)) to \(Self.milliseconds($0.upperBound)) ms" }
                    ?? "")
        }
        return missed + unfounded + late + inexact
    }

    /// Milliseconds with three decimals; `-` if not measured.
    static func milliseconds(_ nanoseconds: UInt64?) -> String {
        nanoseconds.map { format(Double($0) / 1_000_000, decimals: 3) } ?? "-"
    }

    /// Four decimals; `-` if there was nothing to find.
    static func part(_ recall: Double?) -> String { recall.map { format($0, decimals: 4) } ?? "-" }

    static func format(_ number: Double, decimals: Int) -> String { String(format: "%.\(decimals)f", number) }
}
