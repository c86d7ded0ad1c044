import Foundation
import LagOutput
import Testing

@testable import lagdiagnosis

struct VerdictTests {
    private let scenario = Scenario("example", [.lock, .syscall], ["waitHere", "closure in waitHere"], "waits") { _ in 1 }

    private func line(
        phase: String = "end",
        cause: String = "lock",
        culprit: String? = "lagdiagnosis.waitHere",
        duration: Double = 600,
        shares: (cpu: Double, delay: Double, blocked: Double)? = nil,
        symbols: [String] = ["futex", "lagdiagnosis.waitHere"]
    ) throws -> StallLine {
        var object: [String: Any] = [
            "phase": phase, "cause": cause, "duration_ms": duration, "mono_us": 1_000, "capture": "passive",
            "frames": symbols.map { ["pc": "0x1", "symbol": $0] },
        ]
        object["culprit"] = culprit
        if let shares {
            object["cpu_ms"] = shares.cpu
            object["run_delay_ms"] = shares.delay
            object["blocked_ms"] = shares.blocked
        }
        return try StallLine(String(decoding: JSONSerialization.data(withJSONObject: object), as: UTF8.self))
    }

    private func truth(cpu: Double = 10) -> Truth {
        Truth(startMonoUs: 1_000, durationMs: 600, cpuMs: cpu, systemMs: 0, runDelayMs: 0, minorFaults: 0, majorFaults: 0)
    }

    @Test func `an expected cause and culprit are right`() throws {
        let verdict = Verdict(scenario: scenario, records: [try line()], truth: truth())
        #expect(verdict.isRight)
        #expect(verdict.miss == nil)
        #expect(verdict.text.hasPrefix("ok "))
    }

    @Test func `a second expected answer is also right`() throws {
        let record = try line(cause: "syscall", culprit: "closure in lagdiagnosis.waitHere")
        #expect(Verdict(scenario: scenario, records: [record], truth: truth()).isRight)
    }

    @Test(arguments: [("cpu", "lagdiagnosis.waitHere"), ("lock", "lagdiagnosis.waitHereToo"), ("lock", nil)])
    func `any other answer is a miss with the expected and the given answer`(cause: String, culprit: String?) throws {
        let verdict = Verdict(scenario: scenario, records: [try line(cause: cause, culprit: culprit)], truth: truth())
        let miss = try #require(verdict.miss)
        #expect(miss.contains("cause lock or syscall"))
        #expect(miss.contains("said:     cause \(cause), culprit \(culprit ?? "-")"))
        #expect(miss.contains("futex"))
    }

    @Test func `the longest record of the expected phase is evaluated`() throws {
        let records = [try line(cause: "cpu", duration: 160), try line(), try line(phase: "begin", cause: "cpu", duration: 900)]
        #expect(Verdict(scenario: scenario, records: records, truth: truth()).causeIsRight)
    }

    @Test func `a hang is evaluated by the record of its beginning`() throws {
        let hang = scenario.with { $0.ending = .byParent }
        #expect(Verdict(scenario: hang, records: [try line(phase: "begin")], truth: nil).isRight)
        #expect(Verdict(scenario: hang, records: [try line(phase: "end")], truth: nil).record == nil)
    }

    @Test func `a missing record is a miss, a skipped scenario is not`() throws {
        let missing = Verdict(scenario: scenario, records: [], truth: truth())
        let skipped = Verdict(scenario: scenario, missingResult: .skipped("no permission"))
        #expect(missing.miss?.contains("no record of phase 'end'") ?? false)
        #expect(skipped.miss == nil)
        let summary = Summary(verdicts: [missing, skipped])
        #expect(summary.text == "diagnosis cause=0/1 culprit=0/1 stack=0/1 skipped=1")
        #expect(!summary.isClean)
        #expect(!Summary(verdicts: [skipped]).isClean)
    }

    @Test func `the sum of the shares may differ by five percent`() throws {
        let records = try [(300.0, 0.0, 290.0), (300.0, 0.0, 200.0), nil].map { try line(shares: $0) }
        let verdicts = records.map { Verdict(scenario: scenario, records: [$0], truth: truth(cpu: 298)) }
        let text = Summary(verdicts: verdicts).sharesText
        #expect(text.contains("sum_ok=1/3 measured=2 sum_error_max=16.7%"), "\(text)")
        #expect(text.contains("cpu_error_max_ms=2.00"), "\(text)")
    }

    @Test func `a stall is disturbed if others used its processor for more than a quarter of it`() {
        var truth = truth()
        truth.runDelayMs = 100
        #expect(!truth.isDisturbed)
        truth.runDelayMs = 160
        #expect(truth.isDisturbed)
    }

    @Test(arguments: [
        ("", false), (#""duration_min_ms":540.0,"duration_max_ms":601.0,"#, true),
        (#""duration_min_ms":590.0,"duration_max_ms":601.0,"#, false),
    ])
    func `a run whose record has an uncertain duration is repeated`(bounds: String, isDurationUncertain: Bool) throws {
        let text = #"{\#(bounds)"phase":"end","mono_us":1,"duration_ms":601.0}"#
        #expect(
            Verdict(scenario: scenario, records: [try StallLine(text)], truth: truth()).isDurationUncertain == isDurationUncertain
        )
    }

    @Test(arguments: [
        (#""duration_ms":601.0"#, Bool?.none), (#""duration_min_ms":540.0,"duration_ms":601.0,"duration_max_ms":601.0"#, true),
        (#""duration_min_ms":600.9,"duration_ms":601.0,"duration_max_ms":601.0"#, true),
        (#""duration_min_ms":601.1,"duration_ms":602.0,"duration_max_ms":640.0"#, false),
        (#""duration_min_ms":500.0,"duration_ms":550.0,"duration_max_ms":598.9"#, false),
        (#""duration_min_ms":540.0,"duration_ms":610.0,"duration_max_ms":605.0"#, false),
    ])
    func `bounds are right if they contain the recorded and the true duration`(times: String, isRight: Bool?) throws {
        let record = try StallLine("{\(times),\"phase\":\"end\",\"mono_us\":1}")
        let verdict = Verdict(scenario: scenario, records: [record], truth: truth())
        #expect(verdict.boundsAreRight == isRight)
        let (right, all) = (isRight == true ? 1 : 0, isRight == nil ? 0 : 1)
        #expect(Summary(verdicts: [verdict]).sharesText.hasSuffix(" bounds_ok=\(right)/\(all)"))
    }

    @Test func `a stall is mostly blocked if the thread was not runnable for more than half of it`() {
        var truth = truth(cpu: 200)
        #expect(truth.isMostlyBlocked)
        truth.runDelayMs = 110
        #expect(!truth.isMostlyBlocked)
    }

    @Test func `every scenario has a unique name and at most two expected answers`() {
        #expect(Set(Corpus.scenarios.map(\.name)).count == Corpus.scenarios.count)
        #expect(Corpus.scenarios.count >= 20)
        for scenario in Corpus.scenarios {
            #expect((1...2).contains(scenario.causes.count), "\(scenario.name)")
            #expect((1...2).contains(scenario.culprits.count), "\(scenario.name)")
        }
    }
}
