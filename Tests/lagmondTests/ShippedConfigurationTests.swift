import Foundation
import Testing

@testable import lagmond

/// The run that `make run` does: every injected stall at or above the threshold comes out exactly once, with the
/// injected function among its frames, and nothing else comes out.
@Suite(.serialized) struct ShippedConfigurationTests {
    private static let path = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("config/lagmond.json").path

    /// A stretch of the main thread's time, from the truth or from a record. Microseconds.
    private struct Stretch {
        let begin: Int
        let end: Int
        let line: [String: JSONValue]

        func overlaps(_ other: Stretch) -> Bool { begin < other.end && other.begin < end }
        var microseconds: Int { end - begin }
        subscript(_ key: String) -> String { if case .string(let text) = line[key] { text } else { "" } }
    }

    private func object(_ line: Substring) throws -> [String: JSONValue] {
        guard case .object(let members) = try JSONParser.parse(Array(line.utf8)) else { return [:] }
        return members
    }

    private func number(_ value: JSONValue?) -> Double {
        switch value {
        case .int(let int): Double(int)
        case .double(let double): double
        default: 0
        }
    }

    private func injected(_ text: String) throws -> [Stretch] {
        try text.split(separator: "\n").map { line in
            let members = try object(line)
            return Stretch(begin: Int(number(members["begin_mono_us"])), end: Int(number(members["end_mono_us"])), line: members)
        }
    }

    private func reported(_ text: String) throws -> [Stretch] {
        try text.split(separator: "\n").map(object).filter { $0["event"] == .string("stall") }.map { members in
            let begin = Int(number(members["mono_us"]))
            return Stretch(begin: begin, end: begin + Int(number(members["duration_ms"]) * 1000), line: members)
        }
    }

    @Test func itHoldsEveryKindAndIsAccepted() {
        let file = SettingsFile(path: Self.path)
        #expect(file.problems.isEmpty)
        #expect(Set(file.steps.map(\.kind)) == Set(WorkloadKind.allCases))
    }

    @Test func everyInjectedStallIsReportedOnceWithItsFunction() throws {
        try TemporaryDirectory.with { directory in
            let lagmond = try LagmondProcess(["--config", Self.path, "--truth", "t"], in: directory)
            #expect(lagmond.wait(seconds: 120) == 0)
            let truth = try injected(directory.read("t"))
            let records = try reported(lagmond.output)
            #expect(Set(truth.map { $0["kind"] }) == Set(WorkloadKind.allCases.map(\.rawValue)))

            let threshold = 150_000
            // The loop's callout is a little longer than the call inside it: next to the threshold both answers are right.
            let margin = 10_000
            for stall in truth where stall.microseconds >= threshold + margin {
                let matching = records.filter { $0.overlaps(stall) }
                let place = "\(stall["kind"]) of \(stall.microseconds) us"
                #expect(Set(matching.map { $0["id"] }).count == 1, "\(place)")
                #expect(matching.count == 1, "\(place)")
                let frames = matching.first?.line["frames"].map { "\($0)" } ?? ""
                #expect(frames.contains(stall["function"]), "\(place)")
            }
            for record in records {
                #expect(record.microseconds >= threshold)
                // A machine that lets the main thread wait for a processor makes stalls that nobody injected.
                if record["cause"] == "runqueue" { continue }
                #expect(truth.contains { $0.overlaps(record) && $0.microseconds >= threshold - margin }, "\(record.line)")
            }
        }
    }
}
