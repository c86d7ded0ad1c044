internal import Foundation

// The evaluation of stalls in the libraries of another program.
extension Verdict {
    var culpritIsRightWithCaller: Bool {
        culpritIsRight || (culprit.map { scenario.library?.callers.contains($0) ?? false } ?? false)
    }
    /// Whether the record names the thread that holds the lock; nil if memory does not contain it.
    var ownerIsRight: Bool? { scenario.library?.owner.map { $0 == record?.fields.lockOwner?.threadName } }
    /// Whether the stall was reported exactly once.
    var isReported: Bool { reports.own == 1 }

    func lasts(milliseconds: Int) -> Bool { (truth?.durationMs ?? 0) >= Double(milliseconds) }

    /// How far the duration is outside the true bounds, which are the callout's own readings and the loop's readings around it.
    var durationErrorMs: Double? {
        guard let said = record?.fields.durationMs, let truth else { return nil }
        let most = max(truth.longestMs ?? truth.durationMs, truth.durationMs)
        return max(truth.durationMs - said, said - most, 0)
    }

    /// The text that may be shown of an unseen scenario: only that it stalled, and for how long.
    var coveredText: String {
        let stalled = truth.map { String(format: "stalled_ms=%.1f cpu_ms=%.1f", $0.durationMs, $0.cpuMs) }
        return "done \(scenario.name.padding(toLength: 25, withPad: " ", startingAt: 0)) \(stalled ?? "did not end")"
    }

    /// The same for programs.
    var coveredJSON: String {
        var object: [String: Any] = ["scenario": scenario.name, "result": "covered"]
        if let truth { object["truth"] = ["duration_ms": truth.durationMs, "cpu_ms": truth.cpuMs] }
        guard let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }

    /// Whether only that text may be shown.
    func isCovered(revealing: Bool) -> Bool { scenario.library?.part == .unseen && !revealing && !isSkipped }
}
