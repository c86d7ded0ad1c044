internal import Foundation
internal import LagOutput

/// A scenario and the monitor's record of it.
struct Verdict: Sendable {
    /// The reason why there is nothing to judge.
    enum MissingResult: Sendable {
        /// The machine does not permit it, or is too busy: not counted.
        case skipped(String)
        /// The run failed: counts as missed.
        case failed(String)
    }

    let scenario: Scenario
    /// The record of the stall.
    let record: StallLine?
    /// Measured by the child's own clocks; nil for a stall that the parent ended.
    let truth: Truth?
    let missingResult: MissingResult?
    var attempts = 1
    /// Whether computing processes ran beside it.
    var isBusy = false
    /// The debuggers' output from the middle of the stall.
    var debuggerStacks: [DebuggerStack] = []
    /// The number of records of ended stalls: within the stall's time, and at other times.
    private(set) var reports = (own: 0, other: 0)

    init(scenario: Scenario, missingResult: MissingResult) {
        self.scenario = scenario
        self.missingResult = missingResult
        record = nil
        truth = nil
    }

    init(scenario: Scenario, records: [StallLine], truth: Truth?) {
        self.scenario = scenario
        self.truth = truth
        let phase = scenario.ending == .byParent ? "begin" : "end"
        let ended = records.filter { $0.phase == phase }
        let own = ended.filter { truth?.overlaps($0) ?? true }
        reports = (own.count, ended.count - own.count)
        // If there is another stall at that time, it is the shorter one.
        record = own.max { ($0.fields.durationMs ?? 0) < ($1.fields.durationMs ?? 0) }
        let others = reports.other > 0 ? ", \(reports.other) at another time or of another thread" : ""
        missingResult = record == nil ? .failed("no record of phase '\(phase)'\(others)") : nil
    }

    /// Whether the machine delayed the watchdog for longer than a poll may take.
    var isDurationUncertain: Bool { (record?.uncertaintyMs ?? 0) > Self.toleratedUncertaintyMs }
    private static let toleratedUncertaintyMs = 60.0

    /// Whether the record's bounds contain its own duration and, within a millisecond, the true one; nil if it has no bounds.
    var boundsAreRight: Bool? {
        guard let fields = record?.fields, let least = fields.durationMinMs, let most = fields.durationMaxMs,
            let said = fields.durationMs, let truth, least <= most
        else { return nil }
        let tolerated = least - Self.exactMs...most + Self.exactMs
        return (least...most).contains(said) && tolerated.contains(truth.durationMs)
    }
    private static let exactMs = 1.0

    var isSkipped: Bool {
        if case .skipped = missingResult { true } else { false }
    }
    var causeIsRight: Bool {
        let causes = scenario.library?.causes(scenario.causes, in: truth) ?? scenario.causes
        return causes.contains { $0.rawValue == record?.fields.cause }
    }
    var culpritIsRight: Bool { culprit.map(scenario.culprits.contains) ?? false }
    /// Whether the reported stack contains the culprit.
    var stackHoldsCulprit: Bool { record?.frames.contains { $0.symbol.map(scenario.culprits.contains) ?? false } ?? false }
    var isRight: Bool { causeIsRight && culpritIsRight && requestIsRight != false && callersAreRight != false }

    /// The verdict in one line.
    var text: String {
        if case .skipped(let reason) = missingResult { return "SKIP \(padded) \(reason)" }
        guard let record else { return "MISS \(padded) \(failure)" }
        let fields = record.fields
        var parts = [
            "cause=\(fields.cause ?? "-")", "culprit=\(fields.culprit ?? "-")", "stack=\(stackHoldsCulprit ? "holds" : "lacks")",
        ]
        parts.append("duration_ms=\(Self.pair(fields.durationMs, truth?.durationMs))")
        parts.append("cpu_ms=\(Self.pair(fields.cpuMs, truth?.cpuMs))")
        parts.append("run_delay_ms=\(Self.pair(fields.runDelayMs, truth?.runDelayMs))")
        parts.append("blocked_ms=\(Self.number(fields.blockedMs))")
        parts.append("sum=\(record.sharesSum.map { String(format: "%.1f%%", $0 * 100) } ?? "-")")
        if let truth, truth.minorFaults > 0 || truth.majorFaults > 0 {
            parts.append("faults=\(truth.minorFaults)+\(truth.majorFaults) system_ms=\(Self.number(truth.systemMs))")
        }
        if let owner = scenario.library?.owner { parts.append("owner=\(fields.lockOwner?.threadName ?? "-")/\(owner)") }
        if let service = scenario.library?.service { parts.append(text(of: service)) }
        if scenario.library != nil, !isReported { parts.append("reports=\(reports.own)") }
        if isBusy { parts.append("busy") }
        if attempts > 1 { parts.append("attempts=\(attempts)") }
        return "\(isRight ? "ok  " : "MISS") \(padded) \(parts.joined(separator: " "))"
    }

    /// The expected and the recorded result as text; nil if all is correct or nothing is judged.
    var miss: String? {
        guard !isSkipped, !isRight else { return nil }
        var lines = ["miss \(scenario.name): \(scenario.summary)"]
        let causes = scenario.causes.map(\.rawValue).joined(separator: " or ")
        lines.append("  expected: cause \(causes), culprit \(scenario.culprits.joined(separator: " or "))\(expectedOfService)")
        guard let record else { return (lines + ["  \(failure)"]).joined(separator: "\n") }
        let fields = record.fields
        let capture = "\(fields.capture ?? "-")\(fields.captureError.map { " (\($0))" } ?? "")"
        lines.append("  said:     cause \(fields.cause ?? "-"), culprit \(fields.culprit ?? "-"), capture \(capture)")
        lines.append("  message:  \(fields.message ?? "")")
        lines += record.frames.prefix(Self.maximumFramesPerMiss).map { "    \($0.text)" }
        if record.frames.count > Self.maximumFramesPerMiss { lines.append("    … \(record.frames.count) frames") }
        return lines.joined(separator: "\n")
    }

    private static let maximumFramesPerMiss = 24

    private var failure: String {
        switch missingResult {
        case .failed(let reason), .skipped(let reason): reason
        case nil: "no record"
        }
    }

    private var padded: String { scenario.name.padding(toLength: 25, withPad: " ", startingAt: 0) }

    /// The record's values, and the truth.
    private static func pair(_ said: Double?, _ truth: Double?) -> String {
        truth == nil ? number(said) : "\(number(said))/\(number(truth))"
    }

    private static func number(_ value: Double?) -> String { value.map { String(format: "%.1f", $0) } ?? "-" }
}
