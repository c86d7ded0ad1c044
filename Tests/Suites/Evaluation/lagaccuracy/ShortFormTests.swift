import Foundation
import Testing

@testable import lagaccuracy

/// The short form of the complete measurement, as in `make test`: every target is met.
@Suite(.serialized) struct ShortFormTests {
    private func run(_ arguments: [String]) throws -> (status: Int32, output: String, errors: String) {
        try Program.run(arguments, of: "lagaccuracy")
    }

    /// `accuracy NAME key=value …`
    private func fields(_ line: Substring) throws -> (condition: Condition, values: [String: String]) {
        let words = line.split(separator: " ")
        try #require(words.count > 2 && words[0] == "accuracy", "\(line)")
        let condition = try #require(Condition(rawValue: String(words[1])), "\(line)")
        var values: [String: String] = [:]
        for word in words[2...] {
            let parts = word.split(separator: "=", maxSplits: 1)
            try #require(parts.count == 2, "\(word) in \(line)")
            values[String(parts[0])] = String(parts[1])
        }
        return (condition, values)
    }

    @Test(.timeLimit(.minutes(5))) func `every target holds in every condition`() throws {
        let stolen = Self.stolenMilliseconds
        let (status, output, errors) = try run(["--short"])
        // Steal time of a hypervisor belongs to no thread: the clocks continue, and no thread notices.
        let taken = Double(Self.stolenMilliseconds - stolen)
        #expect(status == 0, "\(errors)")
        let lines = try output.split(separator: "\n").map(fields)
        for condition in Condition.allCases {
            let detectors = lines.filter { $0.condition == condition }.map { $0.values["detector"] }
            #expect(detectors == ["lagmonitor", "semaphore_watchdog", "semaphore_watchdog_before_waiting"], "\(condition)")
        }
        for (condition, values) in lines where values["detector"] == "lagmonitor" {
            let facts = "\(condition.rawValue): \(values)\n\(errors)"
            #expect(values["injected"] == "\(InjectionPlan(shortFor: condition, seed: RunOptions.defaultSeed).stalls.count)")
            #expect(try #require(Int(values["above"] ?? "")) > 0, "\(facts)")
            // The time that loop and watchdog waited for a processor is the error of a busy machine; it is small on an idle one.
            let delay = try #require(Double(values["run_delay_ms"] ?? ""), "\(facts)")
            #expect(values["recall_callout"] == "1.0000", "\(facts)")
            // If one of many short callbacks waits longer than the threshold for a processor, it is a separate stall and ends the
            // starvation around it: then one record is about that callback instead.
            if values["recall"] != "1.0000" || values["false"] != "0" {
                #expect(delay > Self.calloutThresholdMilliseconds && values["false"] == "1", "\(facts)")
            }
            let error = try #require(Double(values["duration_err_p99_ms"] ?? ""), "\(facts)")
            if condition.promisesDurations { #expect(error <= max(1, delay, taken), "\(taken) ms stolen; \(facts)") }
        }
    }

    private static let calloutThresholdMilliseconds = 150.0

    /// `steal` in /proc/stat (proc(5)), counted in ticks of 10 ms, for all processors.
    private static var stolenMilliseconds: Int {
        let line = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8))?.prefix { $0 != "\n" }
        let fields = line?.split(separator: " ") ?? []
        return fields.count > 8 ? (Int(fields[8]) ?? 0) * 10 : 0
    }

    @Test func `an unknown condition is refused with the known ones`() throws {
        let (status, output, errors) = try run(["--condition", "noisy"])
        #expect(status == 64)
        #expect(output.isEmpty)
        #expect(errors.contains("calm, busy, starved, stopped, stepped") || errors.contains("'calm'"), "\(errors)")
    }
}
