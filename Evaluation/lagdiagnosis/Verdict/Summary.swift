internal import Foundation

/// The sums of all verdicts.
struct Summary {
    let verdicts: [Verdict]

    private var judged: [Verdict] { verdicts.filter { !$0.isSkipped } }
    var skipped: [Verdict] { verdicts.filter(\.isSkipped) }
    /// Whether all verdicts are correct; false for a run in which nothing could be judged.
    var isClean: Bool { !judged.isEmpty && judged.allSatisfy(\.isRight) }

    /// `diagnosis cause=N/N culprit=N/N …`, the line that other programs read.
    var text: String {
        let all = judged.count
        let (cause, culprit) = (judged.count { $0.causeIsRight }, judged.count { $0.culpritIsRight })
        let stack = judged.count { $0.stackHoldsCulprit }
        return "diagnosis cause=\(cause)/\(all) culprit=\(culprit)/\(all) stack=\(stack)/\(all) skipped=\(skipped.count)"
    }

    /// How well the parts of the time add up to the duration, and how well `cpu_ms` and the duration agree with the truth.
    var sharesText: String {
        let sums = judged.compactMap { $0.record?.sharesSum }.map { abs($0 - 1) }
        let right = sums.count { $0 <= Self.sumTolerance }
        let cpu = errors {
            $0.fields.cpuMs
        } of: {
            $0.cpuMs
        }
        let duration = errors {
            $0.fields.durationMs
        } of: {
            $0.durationMs
        }
        let bounds = judged.compactMap(\.boundsAreRight)
        return "shares sum_ok=\(right)/\(judged.count) measured=\(sums.count) sum_error_max=\(Self.percent(sums.max())) "
            + "cpu_error_p50_ms=\(Self.number(Self.median(cpu))) cpu_error_max_ms=\(Self.number(cpu.max())) "
            + "duration_error_p50_ms=\(Self.number(Self.median(duration))) duration_error_max_ms=\(Self.number(duration.max())) "
            + "bounds_ok=\(bounds.count { $0 })/\(bounds.count)"
    }

    /// The target for the parts: their sum is within 5 % of the duration.
    private static let sumTolerance = 0.05

    private func errors(_ said: (StallLine) -> Double?, of truth: (Truth) -> Double) -> [Double] {
        judged.compactMap { verdict in
            guard let record = verdict.record, let measured = verdict.truth, let value = said(record) else { return nil }
            return abs(value - truth(measured))
        }
    }

    private static func median(_ values: [Double]) -> Double? { values.isEmpty ? nil : values.sorted()[values.count / 2] }
    private static func number(_ value: Double?) -> String { value.map { String(format: "%.2f", $0) } ?? "-" }
    private static func percent(_ value: Double?) -> String { value.map { String(format: "%.1f%%", $0 * 100) } ?? "-" }
}
