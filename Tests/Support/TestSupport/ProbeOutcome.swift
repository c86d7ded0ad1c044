internal import Foundation

/// The result of a probe: a program of the test suite that prints `fine`, or its errors, and runs in a separate process.
public struct ProbeOutcome: Sendable {
    /// What it printed.
    public let text: String
    /// Whether it exited with 0, after `fine`.
    public let isFine: Bool

    /// Runs a program that is next to the test binary, to its end.
    public init(of program: String, _ arguments: [String] = []) throws {
        let process = Process()
        let bin = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        process.executableURL = bin.appendingPathComponent(program)
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        isFine = process.terminationReason == .exit && process.terminationStatus == 0 && text.hasSuffix("fine\n")
    }
}
