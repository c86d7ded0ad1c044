internal import Foundation
internal import Glibc
internal import LagModel
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// Programs that overwrite their environment with their title.
struct OverwrittenEnvironmentTests {
    private func resource(of process: Int32, observer: Int32) -> ProcessResource {
        ProcessResource(of: "\(process)", environment: InheritedEnvironment.bytes(of: process, observer: observer))
    }

    @Test(arguments: [true, false])
    func `an overwritten environment is replaced by that of the ancestor that passed it on`(isBehindShell: Bool) throws {
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
        // Behind a shell, the shell still has it. Otherwise no process has it: this process was started with another environment.
        let written = try #require(Int32(words[1]))
        #expect(resource(of: written, observer: getpid()).serviceName == (isBehindShell ? "shop" : nil))
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    @Test(arguments: [true, false])
    func `an overwritten environment is given the pod of an observer in the same pod`(isSamePod: Bool) throws {
        // A separate UTS namespace needs root.
        guard isSamePod || getuid() == 0 else { return }
        let (process, observer, input, output) = (Process(), Process(), Pipe(), Pipe())
        let probe = WatchedProbe.folder.appendingPathComponent("ForeignProbe")
        process.executableURL = isSamePod ? probe : URL(fileURLWithPath: "/usr/bin/unshare")
        process.arguments = (isSamePod ? [] : ["--uts", probe.path]) + ["waits", "title"]
        (process.standardInput, process.standardOutput) = (input, output)
        observer.executableURL = URL(fileURLWithPath: "/bin/cat")
        observer.environment = ["POD_NAME": "shop-7d9c", "POD_NAMESPACE": "store", "OTEL_SERVICE_NAME": "lagmond"]
        (observer.standardInput, observer.standardOutput) = (Pipe(), FileHandle.nullDevice)
        try observer.run()
        defer { observer.terminate() }
        try process.run()
        let lines = LineReader(output)
        let words = try #require(lines.next()).split(separator: " ")
        try #require(words.first == "written")
        var expected = ProcessResource()
        if isSamePod { (expected.podName, expected.namespaceName) = ("shop-7d9c", "store") }
        var found = resource(of: try #require(Int32(words[1])), observer: observer.processIdentifier)
        // Depends on the machine on which the test runs.
        found.containerID = nil
        #expect(found == expected)
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
