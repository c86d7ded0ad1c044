internal import Foundation
import Glibc
internal import TestSupport
internal import Testing

/// The built binary, started in its own directory, with an environment without settings.
final class LagmondProcess {
    let process = Process()
    let directory: ScratchDirectory

    /// It is in the same folder as the test binary.
    static let binary = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appendingPathComponent("lagmond")

    /// - Parameter stdout: the destination of stdout; nil: the file `out`.
    init(
        _ arguments: [String],
        in directory: ScratchDirectory,
        environment: [String: String] = [:],
        stdout: FileHandle? = nil
    ) throws {
        self.directory = directory
        process.executableURL = Self.binary
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: directory.path)
        let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("LAGMONITOR_") }
        process.environment = inherited.merging(environment) { $1 }
        for name in ["out", "err"] { try directory.write("", to: name) }
        process.standardOutput = try stdout ?? FileHandle(forWritingTo: URL(fileURLWithPath: directory.file("out")))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: directory.file("err")))
        try process.run()
    }

    var pid: Int32 { process.processIdentifier }
    var errors: String { directory.read("err") }
    var output: String { directory.read("out") }

    /// Waits until the process exits and returns the exit code; if it does not exit, the test fails and the process is killed.
    func wait(seconds: Int = 60) -> Int32 {
        let ended = eventually(seconds: seconds) { !process.isRunning }
        if !ended {
            Issue.record("lagmond did not end within \(seconds) s")
            kill(pid, SIGKILL)
        }
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    }

    /// Starts lagmond, waits until it exits, and returns its status and output.
    static func run(
        _ arguments: [String],
        files: [String: String] = [:],
        environment: [String: String] = [:]
    ) throws -> (status: Int32, output: String, errors: String) {
        try ScratchDirectory.with { directory in
            for (name, text) in files { try directory.write(text, to: name) }
            let lagmond = try LagmondProcess(arguments, in: directory, environment: environment)
            let status = lagmond.wait()
            return (status, lagmond.output, lagmond.errors)
        }
    }

    /// Runs a shell command in the directory, for redirections; stderr goes into `err`. The status is 124 if it times out.
    static func shell(_ command: String, in directory: ScratchDirectory) throws -> Int32 {
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        shell.arguments = ["timeout", "60", "bash", "-c", #"exec 2>err; lagmond() { "$0" "$@"; }; "# + command, binary.path]
        shell.currentDirectoryURL = URL(fileURLWithPath: directory.path)
        shell.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("LAGMONITOR_") }
        try shell.run()
        shell.waitUntilExit()
        return shell.terminationStatus
    }

    deinit { if process.isRunning { kill(pid, SIGKILL) } }
}
