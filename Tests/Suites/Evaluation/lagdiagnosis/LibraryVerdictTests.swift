import Foundation
import LagOutput
import Testing

@testable import lagdiagnosis

struct LibraryVerdictTests {
    private func scenario(_ name: String, _ part: LibraryTruth.Part = .developed, owner: String? = nil) -> Scenario {
        let truth = LibraryTruth(part: part, callers: ["handle_event"], owner: owner, computes: true)
        return Scenario(named: name, [.cpu], culprits: ["compress"], "computes", library: truth)
    }

    private func line(
        _ culprit: String = "compress",
        cause: String = "cpu",
        confidence: Double = 0.9,
        owner: String? = nil,
        at monoUs: Int = 1_000
    ) throws -> StallLine {
        var object: [String: Any] = [
            "phase": "end", "cause": cause, "duration_ms": 601.0, "mono_us": monoUs, "culprit": culprit,
            "culprit_confidence": confidence,
        ]
        object["lock_owner"] = owner.map { ["thread_name": $0] }
        return try StallLine(String(decoding: JSONSerialization.data(withJSONObject: object), as: UTF8.self))
    }

    private func truth(cpu: Double = 590) -> Truth {
        Truth(startMonoUs: 1_000, durationMs: 600, cpuMs: cpu, systemMs: 0, minorFaults: 0, majorFaults: 0)
    }

    @Test func `the caller of the culprit is right only in the weaker verdict`() throws {
        let verdict = Verdict(scenario: scenario("a"), records: [try line("handle_event")], truth: truth())
        #expect(!verdict.culpritIsRight)
        #expect(verdict.culpritIsRightWithCaller)
    }

    @Test(arguments: [
        (590.0, "cpu", true), (590, "runqueue", false), (300, "cpu", true), (300, "runqueue", true), (60, "cpu", false),
        (60, "runqueue", true),
    ])
    func `a computing thread that did not run was waiting for a processor`(cpu: Double, cause: String, isRight: Bool) throws {
        let verdict = Verdict(scenario: scenario("a"), records: [try line(cause: cause)], truth: truth(cpu: cpu))
        #expect(verdict.causeIsRight == isRight)
    }

    @Test func `a stall counts as reported if exactly one record lies in its time`() throws {
        let once = Verdict(scenario: scenario("a"), records: [try line(), try line(at: 5_000_000)], truth: truth())
        #expect(once.isReported && once.reports.other == 1)
        #expect(!Verdict(scenario: scenario("a"), records: [try line(), try line()], truth: truth()).isReported)
    }

    @Test func `the lock owner is evaluated only for scenarios with a known owner`() throws {
        let records = [try line(owner: "writer")]
        #expect(Verdict(scenario: scenario("a", owner: "writer"), records: records, truth: truth()).ownerIsRight == true)
        #expect(Verdict(scenario: scenario("a", owner: "reader"), records: records, truth: truth()).ownerIsRight == false)
        #expect(Verdict(scenario: scenario("a"), records: records, truth: truth()).ownerIsRight == nil)
    }

    @Test func `sums are per group, and the calibration weights its bins`() throws {
        let right = Verdict(scenario: scenario("a"), records: [try line()], truth: truth())
        let wrong = Verdict(scenario: scenario("b"), records: [try line("main", confidence: 0.5)], truth: truth())
        let other = Verdict(scenario: scenario("c", .unseen), records: [try line()], truth: truth())
        let group = GroupSummary(part: .developed, isBusy: false, verdicts: [right, wrong, other])
        #expect(group.text.contains("reported=2/2"), "\(group.text)")
        #expect(group.text.contains("culprit=1/2 with_caller=1/2"), "\(group.text)")
        // 0.1 for one bin and 0.5 for the other, with equal weight.
        #expect(group.calibration.last?.hasSuffix("records=2 expected_error=0.30") == true, "\(group.calibration)")
    }

    @Test func `the text of an unseen scenario contains only that it stalled`() throws {
        let verdict = Verdict(scenario: scenario("c", .unseen), records: [try line("main")], truth: truth())
        #expect(verdict.isCovered(revealing: false) && !verdict.isCovered(revealing: true))
        #expect(!verdict.coveredText.contains("main") && verdict.coveredText.contains("stalled_ms=600.0"))
        #expect(!verdict.coveredJSON.contains("main"))
        #expect(GroupSummary(part: .unseen, isBusy: false, verdicts: [verdict]).isTelltale)
    }
}
