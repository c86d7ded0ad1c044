internal import Foundation
internal import LagModel
internal import TestSupport
internal import Testing

/// Programs that write their title over their environment.
struct OverwrittenEnvironmentTests {
    @Test(arguments: [true, false])
    func `an overwritten environment is that of the ancestor who passed it on`(isBehindShell: Bool) throws {
        let (process, input, output) = (Process(), Pipe(), Pipe())
        let probe = WatchedProbe.folder.appendingPathComponent("ForeignProbe")
        process.executableURL = isBehindShell ? URL(fileURLWithPath: "/bin/sh") : probe
        process.arguments = isBehindShell ? ["-c", "\"$0\" waits title; :", probe.path] : ["waits", "title"]
        process.environment = ProcessInfo.processInfo.environment.merging(["OTEL_SERVICE_NAME": "shop"]) { $1 }
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        let lines = LineReader(output)
        let words = try #require(lines.next()).split(separator: " ")
        try #require(words.first == "written")
        // Behind the shell it is the shell's. Else nobody has it any more: this process was started with another one.
        #expect(ProcessResource(of: String(words[1])).serviceName == (isBehindShell ? "shop" : nil))
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
