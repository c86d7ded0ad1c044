import Foundation
import Testing

/// Validates every line that the programs of the test suite wrote: `make test` runs this last, on the file that they all
/// write to (`LAG_TEST_LINES`).
struct WrittenLinesTests {
    private static let path = ProcessInfo.processInfo.environment["LAG_CHECK_LINES"]

    @Test(.enabled(if: path != nil)) func `every line that the tests wrote is valid`() throws {
        let path = try #require(Self.path)
        let data = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
        let validator = try SchemaValidator(SchemaFile.json())
        var count = 0
        var wrong = 0
        try data.withUnsafeBytes { bytes in
            for line in bytes.split(separator: UInt8(ascii: "\n")) {
                count += 1
                let problems = try validator.problems(of: Data(line)) + durationProblems(of: Data(line))
                guard !problems.isEmpty else { continue }
                wrong += 1
                if wrong <= 10 { Issue.record("\(problems) in \(String(decoding: line, as: UTF8.self))") }
            }
        }
        #expect(wrong == 0)
        #expect(count > 0, "\(path) has no line: LAG_TEST_LINES did not reach the tests")
        print("schema: lines=\(count) valid=\(count - wrong)")
    }

    /// A stall's duration is between its bounds, for any rule and any phase.
    private func durationProblems(of line: Data) throws -> [String] {
        guard line.firstRange(of: Data("\"duration_min_ms\"".utf8)) != nil else { return [] }
        let fields = try JSONSerialization.jsonObject(with: line) as? [String: Any]
        let numbers = ["duration_min_ms", "duration_ms", "duration_max_ms"].compactMap { (fields?[$0] as? NSNumber)?.doubleValue }
        return numbers.count == 3 && numbers == numbers.sorted() ? [] : ["the duration is outside of its bounds"]
    }
}
