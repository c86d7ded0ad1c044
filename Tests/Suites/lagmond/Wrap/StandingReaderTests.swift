internal import Foundation
internal import TestSupport
internal import Testing

/// The reader of stderr does not read: a log collector that hangs, a terminal after ^S.
@Suite("A blocked reader of the messages")
struct StandingReaderTests {
    /// A full pipe.
    private static func fullPipe() -> Pipe {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        let flags = fcntl(descriptor, F_GETFL)
        _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
        let bytes = [UInt8](repeating: 0, count: 4096)
        while write(descriptor, bytes, bytes.count) > 0 {}
        while write(descriptor, bytes, 1) > 0 {}
        _ = fcntl(descriptor, F_SETFL, flags)
        return pipe
    }

    private static func run(_ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: ProbeRun.lagmond)
        process.arguments = arguments
        process.standardError = fullPipe()
        process.standardOutput = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        return process
    }

    /// lagmond exits as the command does, and still takes an action.
    @Test(arguments: [["/bin/sh", "-c", "exit 7"], [ProbeRun.probe, "hang"]])
    func `lagmond exits with its command although stderr is not read`(command: [String]) throws {
        try withFolder { folder in
            let options = ["run", "--on-hang", "signal:KILL", "--on-hang-after", "0.5", "--output", folder + "/stalls", "--"]
            let process = try Self.run(options + command)
            let hasEnded = eventually { !process.isRunning }
            if !hasEnded { kill(process.processIdentifier, SIGKILL) }
            process.waitUntilExit()
            #expect(hasEnded && process.terminationStatus == (command.count > 2 ? 7 : SIGKILL))
        }
    }

    @Test func `a run without a command ends in time although stderr is not read`() throws {
        try withFolder { folder in
            let file = folder + "/c.json"
            try Data(#"{"duration_s": 1, "workload": {"steps": [{"kind": "sleep"}]}}"#.utf8).write(to: URL(fileURLWithPath: file))
            let process = try Self.run(["--config", file, "--output", "/dev/full"])
            let hasEnded = eventually { !process.isRunning }
            if !hasEnded { kill(process.processIdentifier, SIGKILL) }
            process.waitUntilExit()
            #expect(hasEnded && process.terminationStatus == 0)
        }
    }

    @Test func `a run with targets exits on a signal although stderr is not read`() throws {
        try withFolder { folder in
            let file = folder + "/c.json"
            let target = #"{"name": "a", "command": ["\#(ProbeRun.probe)", "turn"]}"#
            try Data(#"{"output": {"path": "\#(folder)/stalls"}, "targets": [\#(target)]}"#.utf8).write(
                to: URL(fileURLWithPath: file)
            )
            let process = try Self.run(["run", "--config", file])
            sleep(1)
            kill(process.processIdentifier, SIGTERM)
            let hasEnded = eventually { !process.isRunning }
            if !hasEnded { kill(process.processIdentifier, SIGKILL) }
            process.waitUntilExit()
            #expect(hasEnded && process.terminationStatus == 0)
        }
    }
}
