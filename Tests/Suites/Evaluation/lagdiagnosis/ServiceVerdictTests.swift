import Foundation
import LagOutput
import Testing

@testable import lagdiagnosis

struct ServiceVerdictTests {
    private func scenario(
        _ name: String = "a",
        _ part: LibraryTruth.Part = .developed,
        group: String = "tasks",
        request: String? = nil,
        callers: [String]? = nil
    ) -> Scenario {
        let service = ServiceTruth(group: group, request: request, suspendedCallers: callers)
        let truth = LibraryTruth(part: part, callers: ["app.Cart.show"], owner: nil, computes: true, service: service)
        return Scenario(named: name, [.cpu], culprits: ["app.Cart.total"], "computes", library: truth)
    }

    private func line(
        _ culprit: String = "app.Cart.total",
        request: String? = nil,
        suspended: [String] = [],
        at monoUs: Int = 1_000,
        thread: Int = 7,
        duration: Double = 600
    ) throws -> StallLine {
        var object: [String: Any] = [
            "phase": "end", "cause": "cpu", "duration_ms": duration, "mono_us": monoUs, "thread_id": thread, "culprit": culprit,
            "culprit_confidence": 0.9,
        ]
        object["request"] = request.map { ["name": $0, "running": true] }
        let stack: [[String: Any]] = [["pc": "0x1", "symbol": "app.Cart.total"], ["pc": "0x2", "symbol": "app.main"]]
        object["frames"] = stack + suspended.map { ["pc": "0x3", "symbol": $0, "async": true] }
        return try StallLine(String(decoding: JSONSerialization.data(withJSONObject: object), as: UTF8.self))
    }

    private let truth = Truth(
        startMonoUs: 1_000,
        durationMs: 600,
        cpuMs: 590,
        systemMs: 0,
        minorFaults: 0,
        majorFaults: 0,
        threadID: 7
    )

    private func verdict(_ scenario: Scenario, _ records: [StallLine]) -> Verdict {
        Verdict(scenario: scenario, records: records, truth: truth)
    }

    @Test func `a closure of a function counts as the function`() throws {
        #expect(verdict(scenario(), [try line("closure #2 in app.Cart.total")]).culpritIsRight)
        #expect(!verdict(scenario(), [try line("closure in app.Cart.totals")]).culpritIsRight)
        let caller = verdict(scenario(), [try line("closure #1 in closure in app.Cart.show")])
        #expect(!caller.culpritIsRight && caller.culpritIsRightWithCaller)
    }

    @Test(arguments: [
        ("GET /a", "GET /a", true, false), ("GET /a", nil, false, false), ("GET /a", "GET /b", false, true),
        (nil, nil, true, false),
        (nil, "GET /b", false, true),
    ])
    func `a request is right, missing or wrong`(expected: String?, said: String?, isRight: Bool, isWrong: Bool) throws {
        let verdict = verdict(scenario(request: expected), [try line(request: said)])
        #expect(verdict.requestIsRight == isRight)
        #expect(verdict.requestIsWrong == isWrong && verdict.isServiceFailure == isWrong)
        #expect(verdict.isRight == isRight)
    }

    @Test(arguments: [
        (["app.Cart.pay", "app.Cart.open"], true),
        (["Server.run", "closure #1 in app.Cart.pay", "Server.run", "app.Cart.open", "app.main"], true),
        (["app.Cart.open", "app.Cart.pay"], false), (["app.Cart.pay"], false),
        (["app.Cart.pay", "app.Cart.other", "app.Cart.open"], false), ([], false),
    ])
    func `callers are the functions of the program in order`(suspended: [String], isRight: Bool) throws {
        let scenario = scenario(callers: ["app.Cart.pay", "app.Cart.open"])
        #expect(verdict(scenario, [try line(suspended: suspended)]).callersAreRight == isRight)
        #expect(verdict(self.scenario(), [try line(suspended: suspended)]).callersAreRight == nil)
    }

    @Test func `a record of another thread or time does not belong to the stall`() throws {
        let others = [try line(thread: 8, duration: 900), try line(at: 9_000_000, duration: 900)]
        let missing = verdict(scenario(), others)
        #expect(missing.record == nil && missing.reports == (0, 2) && missing.isServiceFailure)
        let found = verdict(scenario(), others + [try line()])
        #expect(found.record?.fields.durationMs == 600 && found.isReported && !found.isServiceFailure)
    }

    @Test func `sums are per group and per half`() throws {
        let verdicts = [
            verdict(scenario("a", request: "GET /a", callers: []), [try line(request: "GET /a")]),
            verdict(scenario("b", request: "GET /a", callers: ["app.f"]), [try line("app.Cart.show", request: "GET /b")]),
            verdict(scenario("c"), []), verdict(scenario("d", group: "servers"), [try line()]),
            verdict(scenario("e", .unseen), [try line()]),
        ]
        let summary = GroupSummary(part: .developed, isBusy: false, serviceGroup: "tasks", verdicts: verdicts)
        let text =
            "services tasks half=developed load=quiet stalls=3 reported=2/3 cause=2/2 culprit=1/2 with_caller=2/2 "
            + "request_right=1/2 request_wrong=1 callers=1/2 confidence_error=0.40"
        #expect(summary.lines == [text])
    }

    @Test func `a scenario without a service is not a service failure`() throws {
        let truth = LibraryTruth(part: .developed, callers: [], owner: nil, computes: true)
        let library = Scenario(named: "z", [.cpu], culprits: ["compress"], "computes", library: truth)
        #expect(!verdict(library, []).isServiceFailure)
        #expect(GroupSummary(part: .developed, isBusy: false, serviceGroup: "tasks", verdicts: [verdict(library, [])]).isEmpty)
    }
}
