import Foundation
import TestSupport
import Testing

@testable import lagfuzz

struct FuzzTests {
    private func run(_ arguments: [String]) throws -> (status: Int32, lines: [String]) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("lagfuzz")
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init))
    }

    private var corpus: String {
        var url = URL(fileURLWithPath: #filePath)
        for _ in 0..<5 { url.deleteLastPathComponent() }
        return url.appendingPathComponent("Evaluation/Fuzz/Corpus").path
    }

    private func scratch() throws -> String {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("lagmonitor-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    @Test func `every input of the corpus is processed without a failure`() throws {
        let (status, lines) = try run(["--replay", "--corpus", corpus])
        #expect(status == 0 && lines.count == Lagfuzz.targets.count, "\(lines)")
    }

    @Test(arguments: Lagfuzz.targets.map { $0.name }.filter { !["config", "http"].contains($0) })
    func `a target processes mutated inputs without a failure`(name: String) throws {
        let folder = try scratch()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (status, lines) = try run(["--seconds", "0.5", "--corpus", folder, name])
        #expect(status == 0 && lines.count == 1, "\(lines)")
        #expect(lines.first?.contains(" finds=0 ") == true && lines.first?.contains(" tries=0 ") == false, "\(lines)")
    }

    /// A program that accepts an invalid settings file simulates a broken reader.
    @Test func `a failing input is counted, kept and reproduced`() throws {
        let folder = try scratch()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (status, lines) = try run(["--seconds", "20", "--corpus", folder, "--lagmond", "/bin/true", "config"])
        let kept = try FileManager.default.contentsOfDirectory(atPath: folder + "/config")
        #expect(status == 1 && !kept.isEmpty && lines.first?.contains(" finds=20 ") == true, "\(lines)")
        #expect(try run(["--replay", "--corpus", folder, "--lagmond", "/bin/true", "config"]).status == 1)
    }

    @Test func `the same seed gives the same inputs`() {
        func inputs(_ seed: UInt64) -> [[UInt8]] {
            var mutator = Mutator(seed: seed, seeds: [Array("abcdef".utf8), Array(repeating: 7, count: 3000)], tokens: ["x"])
            return (0..<200).map { _ in mutator.next() }
        }
        #expect(inputs(1) == inputs(1) && inputs(1) != inputs(2))
        #expect(Set(inputs(1)).count > 150)
    }

    @Test(arguments: [["--seconds"], ["--seconds", "-1"], ["--seed", "x"], ["perl"]])
    func `an invalid argument is refused`(arguments: [String]) {
        #expect(throws: FuzzError.self) { try FuzzOptions(arguments) }
    }
}
