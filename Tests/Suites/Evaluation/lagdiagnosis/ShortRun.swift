import Foundation

/// `lagdiagnosis --short --json`, run once for all tests that use it.
enum ShortRun {
    /// The verdict on one scenario.
    struct Verdict: Decodable, Sendable {
        let scenario: String
        let result: String
        let reason: String?
        let expectedCauses: [String]
        let expectedCulprits: [String]
        let causeOk: Bool
        let culpritOk: Bool
        let stackHoldsCulprit: Bool
        let record: Record?
        let truth: Truth?

        var isSkipped: Bool { result == "skipped" }

        /// The message of a failure.
        var text: String {
            let frames = (record?.frames ?? []).prefix(12).map { $0.symbol ?? "?" }
            return "\(scenario): expected \(expectedCauses) in \(expectedCulprits), said \(record?.cause ?? "-") in "
                + "\(record?.culprit ?? "-") \(reason ?? "") frames \(frames)"
        }
    }

    struct Record: Decodable, Sendable {
        struct Frame: Decodable, Sendable { let symbol: String? }

        let cause: String
        let culprit: String?
        let capture: String
        let durationMs: Double
        let frames: [Frame]?
    }

    struct Truth: Decodable, Sendable { let durationMs: Double }

    static let verdicts: Result<[Verdict], any Error> = Result {
        let run = try Program.run(["--short", "--json"])
        FileHandle.standardError.write(Data(run.errors.utf8))
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try run.output.split(separator: "\n").map { try decoder.decode(Verdict.self, from: Data($0.utf8)) }
    }
}

/// A built program.
enum Program {
    static func run(_ arguments: [String], of name: String = "lagdiagnosis") throws -> (
        status: Int32, output: String, errors: String
    ) {
        let process = Process()
        let bin = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        process.executableURL = bin.appendingPathComponent(name)
        process.arguments = arguments
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        let complaints = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text, complaints)
    }
}
