import Foundation
import Testing

/// What can only be seen in a process in which nothing else goes on: a program of its own, `MonitorProbe`.
struct ProbeTests {
    @Test(arguments: ["leftovers", "unwinder", "cycles", "stop-signal", "across-stop", "debugger"])
    func aQuietProcess(check: String) throws {
        let process = Process()
        let bin = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        process.executableURL = bin.appendingPathComponent("MonitorProbe")
        process.arguments = [check]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 0, "\(text)")
        #expect(text.hasSuffix("fine\n"), "\(text)")
    }
}
