internal import Foundation
internal import TestSupport
internal import Testing

/// Programs whose loops the preloaded library does not see, or that have no loop.
@Suite("Loops that the library does not see", .serialized)
struct UnseenLoopTests {
    /// A program that makes its system calls directly.
    @Test func `a process that bypasses the preloaded library is watched from outside`() throws {
        let lines = try Self.linesOfStall {
            var lines = ""
            try withFolder { folder in
                let output = folder + "/stalls"
                let run = try RunningProbe([
                    ProbeRun.lagmond, "run", "--output", output, "--", ProbeRun.probe, "places", "unseen",
                ])
                let message = try run.complaint(containing: " from outside: ")
                #expect(message.contains("watching ForeignProbe [") && message.contains("saw no loop"), "\(message)")
                _ = try run.complaint(containing: "watching main of ForeignProbe")
                run.send("\n")
                let end = try run.end()
                #expect(end.status == 0, "\(end.errors)")
                lines = text(of: output)
            }
            return lines
        }
        #expect(lines.contains("handler_that_naps"), "\(lines)")
    }

    /// Runs a program with a stall until its lines are not empty: from outside, only samples find it, and if lagmond gets no
    /// processor while it lasts, it cannot know of it afterwards.
    private static func linesOfStall(_ run: () throws -> String) rethrows -> String {
        var lines = ""
        for _ in Attempts("a stall that the library does not see") {
            lines = try run()
            if !lines.isEmpty { break }
        }
        return lines
    }

    /// Its wait has no descriptor, so nothing that it does can be a stall.
    @Test func `a program that waits for time alone is not reported as watched`() async throws {
        try await atOnce([true, false]) { try $0 ? Self.expectNoLoopInCommand() : Self.expectNoAttachedLoop() }
    }

    private static func expectNoLoopInCommand() throws {
        let run = try ProbeRun(ProbeRun.wrapper + [ProbeRun.probe, "places", "sleeps"])
        #expect(run.status == 0 && !run.errors.contains("watching "), "\(run.errors)")
        #expect(run.errors.contains("polls with timeout 0 and sleeps in between, is not watched"), "\(run.errors)")
    }

    private static func expectNoAttachedLoop() throws {
        let running = try RunningProbe([ProbeRun.probe, "places", "sleeps"])
        let watch = try RunningProbe([ProbeRun.lagmond, "attach", "--pid", "\(running.pid)", "--output", "/dev/null"])
        _ = try watch.complaint(containing: "nothing is watched so far")
        running.send("\n")
        let end = try watch.end()
        #expect(end.status == 0 && !end.errors.contains("watching "), "\(end.errors)")
        #expect(end.errors.contains("; watched loops: 0\n"), "\(end.errors)")
        #expect(try running.end().status == 0)
    }

    /// A program with the ELF note that Go's linker writes.
    private static func withGoProgram(_ body: (_ path: String, _ folder: String) throws -> Void) throws {
        let start: [UInt8] = [4, 0, 0, 0, 16, 0, 0, 0]
        let abi = Data(start + [1, 0, 0, 0] + Array("GNU\0".utf8))
        let go = Data(start + [4, 0, 0, 0] + Array("Go\0\0".utf8))
        var program = try Data(contentsOf: URL(fileURLWithPath: ProbeRun.probe))
        let found = try #require(program.range(of: abi))
        program.replaceSubrange(found, with: go)
        try withFolder { folder in
            let path = folder + "/served"
            #expect(FileManager.default.createFile(atPath: path, contents: program, attributes: [.posixPermissions: 0o755]))
            try body(path, folder)
        }
    }

    /// The threads of a Go program run goroutines in turn.
    @Test func `threads of a Go program are watched only if they are selected`() throws {
        try Self.withGoProgram { program, folder in
            func lines(_ options: [String]) throws -> String {
                let output = folder + "/stalls\(options.count)"
                let running = try RunningProbe([program, "places", "lock"])
                let attach = [ProbeRun.lagmond, "attach", "--pid", "\(running.pid)", "--output", output]
                let watch = try RunningProbe(attach + options)
                let expected = options.isEmpty ? "its goroutines are not watched" : "watching main of served"
                _ = try watch.complaint(containing: expected)
                running.send("\n")
                let end = try watch.end()
                #expect(end.status == 0 && end.errors.contains("; watched loops: \(options.isEmpty ? 0 : 1)\n"), "\(end.errors)")
                #expect(try running.end().status == 0)
                return text(of: output)
            }
            let unselected = try lines([])
            #expect(!unselected.contains("handler_that_waits_for_a_lock"), "\(unselected)")
            let selected = try Self.linesOfStall { try lines(["--thread", "main"]) }
            #expect(selected.contains("handler_that_waits_for_a_lock"), "\(selected)")
        }
    }
}
