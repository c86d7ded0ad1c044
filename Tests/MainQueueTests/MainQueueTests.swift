import Foundation
import Testing

/// The main queue and the main actor under all that may run them. Each can be had only once a process: programs of their own.
struct MainQueueTests {
    @Test(arguments: [["MainActorProbe"], ["MainQueueProbe", "dispatch-main"], ["MainQueueProbe", "run-loop"]])
    func stallsAreFoundOnTheirThreadAndNothingElseIs(command: [String]) throws {
        let process = Process()
        let bin = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        process.executableURL = bin.appendingPathComponent(command[0])
        process.arguments = Array(command.dropFirst())
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 0, "\(text)")
        #expect(text.hasSuffix("fine\n"), "\(text)")
        print(command.joined(separator: " "), text, separator: ": ", terminator: "")
    }
}
