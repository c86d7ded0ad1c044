internal import Foundation
internal import LagMonitor
internal import TestSupport
internal import Testing

@testable import LagWorkload
@testable internal import lagmond

/// The run of `make run`: every injected stall at or above the threshold is reported exactly once, with the injected
/// function among its frames, and nothing else is reported.
@Suite(.serialized) struct ShippedConfigurationTests {
    private static let path = Repository.root.appendingPathComponent("config/lagmond.json").path

    /// An interval of the main thread's time, from the truth log or from a record, in microseconds.
    private struct Interval {
        let begin: Int
        let end: Int
        let line: [String: JSONValue]

        func overlaps(_ other: Interval) -> Bool { begin < other.end && other.begin < end }
        var microseconds: Int { end - begin }
        subscript(_ key: String) -> String { if case .string(let text) = line[key] { text } else { "" } }
    }

    private func object(_ line: Substring) throws -> [String: JSONValue] {
        guard case .object(let members) = try JSONValue(parsing: Array(line.utf8)) else { return [:] }
        return members
    }

    private func number(_ value: JSONValue?) -> Double {
        switch value {
        case .int(let int): Double(int)
        case .double(let double): double
        default: 0
        }
    }

    private func injected(_ text: String) throws -> [Interval] {
        try text.split(separator: "\n").map { line in
            let members = try object(line)
            return Interval(begin: Int(number(members["begin_mono_us"])), end: Int(number(members["end_mono_us"])), line: members)
        }
    }

    private func reported(_ text: String) throws -> [Interval] {
        try text.split(separator: "\n").map(object).filter { $0["event"] == .string("stall") }.map { members in
            let begin = Int(number(members["mono_us"]))
            return Interval(begin: begin, end: begin + Int(number(members["duration_ms"]) * 1000), line: members)
        }
    }

    /// All kinds except the one for which lagmond has no rule yet.
    private static let kinds = Set(WorkloadKind.allCases).subtracting([.starve])

    @Test func `the shipped configuration contains every kind of step and is accepted`() {
        let file = SettingsFile(path: Self.path)
        #expect(file.problems.isEmpty)
        #expect(Set(file.steps.compactMap { WorkloadStep.read($0).step?.kind }) == Self.kinds)
    }

    @Test func `every injected stall is reported once with its function`() throws {
        // On an overloaded machine a running thread may not be scheduled in time to be captured, which its record reports,
        // the last step starts too late, or lines are dropped at the end. More runs distinguish such bad luck from a defect.
        var incomplete: [String] = []
        for _ in 0..<3 {
            incomplete = try checkedRun()
            if incomplete.isEmpty { return }
        }
        Issue.record("three runs were incomplete: \(incomplete)")
    }

    /// One run with all checks; returns the steps that did not begin, what was dropped, and the stalls whose record has no stack,
    /// with the reason.
    private func checkedRun() throws -> [String] {
        try ScratchDirectory.with { directory in
            let lagmond = try LagmondProcess(["--config", Self.path, "--truth", "t"], in: directory)
            #expect(lagmond.wait(seconds: 120) == 0)
            // A reporter without processor time does not finish in the second that the end waits for it.
            guard lagmond.errors.contains(" dropped=0 ") else { return [lagmond.errors] }
            let truth = try injected(directory.read("t"))
            let records = try reported(lagmond.output)
            for record in records {
                #expect(record.microseconds >= Self.threshold)
                // On a machine where the main thread waits for a processor, stalls occur that were not injected.
                if record["cause"] == "runqueue" { continue }
                #expect(
                    truth.contains { $0.overlaps(record) && $0.microseconds >= Self.threshold - Self.margin },
                    "\(record.line)"
                )
            }
            let late = Set(Self.kinds.map(\.rawValue)).subtracting(truth.map { $0["kind"] })
            return late.map { "\($0) did not begin in time" }
                + truth.filter { $0.microseconds >= Self.threshold + Self.margin }.compactMap { check($0, records) }
        }
    }

    /// Microseconds, as in the configuration.
    private static let threshold = 150_000
    /// The loop's callout is slightly longer than the call inside it: near the threshold both answers are right.
    private static let margin = 10_000

    private func check(_ stall: Interval, _ records: [Interval]) -> String? {
        let matching = records.filter { $0.overlaps(stall) }
        let place =
            "\(stall["kind"]) of \(stall.microseconds) us from \(stall.begin), records \(records.map { ($0["id"], $0.begin, $0.end) })"
        #expect(matching.count == 1, "\(place)")
        guard let record = matching.first else { return nil }
        if record["capture"] == "none" {
            #expect(!record["capture_error"].isEmpty, "\(place)")
            return "\(place): \(record["capture_error"])"
        }
        let frames = record.line["frames"].map { "\($0)" } ?? ""
        #expect(frames.contains(stall["function"]), "\(place)")
        return nil
    }
}
