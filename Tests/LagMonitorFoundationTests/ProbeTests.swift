import Foundation
import Testing

/// The main loop can only be run by a program of its own: `FoundationProbe`.
struct ProbeTests {
    @Test func theMainLoopAndAllThatItRuns() throws {
        let process = Process()
        let bin = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        process.executableURL = bin.appendingPathComponent("FoundationProbe")
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 0, "\(text)")
        #expect(text.hasSuffix("fine\n"), "\(text)")
    }
}
