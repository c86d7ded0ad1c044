internal import Foundation
internal import TestSupport
internal import Testing

/// Whether work is pending while the loop's thread waits.
extension LoopPlacesTests {
    /// As in Asio and libuv: the handler waits in a stack frame above that of the loop's wait, and nothing is pending. Or as in
    /// gpsd, whose wait function has a buffer for messages on the stack.
    @Test func `a handler that waits beside a loop with a large stack frame is a stall`() async throws {
        try await atOnce(Way.allCases.flatMap { [($0, "beside"), ($0, "beside-text")] }) { way, name in
            let lines = try Self.lines(name, way, stalls: 1)
            Self.expectStall(lines, in: "handler_that_waits_for_a_lock")
            #expect(lines.first?["pending"] as? Bool == false)
        }
    }

    @Test func `a handler that waits for a lock is a stall although nothing is pending`() async throws {
        try await atOnce(Way.allCases) { way in
            let lines = try Self.lines("lock", way, stalls: 1)
            Self.expectStall(lines, in: "handler_that_waits_for_a_lock")
            #expect(lines.first?["pending"] as? Bool == false)
        }
    }

    /// The place where a thread of a Java virtual machine sleeps does not show whether it has left its loop, and this loop serves
    /// no client.
    @Test func `a lock wait beside a Java loop without a channel counts as an idle pool thread`() throws {
        #expect(try Self.lines("lock-without-channel", .run).count == 1)
        try withFolder { folder in
            let (source, library) = (folder + "/machine.c", folder + "/libjvm.so")
            try Data("int made(void) { return 1; }".utf8).write(to: URL(fileURLWithPath: source))
            let compiler = try ProbeRun(["/usr/bin/env", "clang", "-shared", "-o", library, source])
            try #require(compiler.status == 0, "\(compiler.errors)")
            let lines = try Self.lines("lock-without-channel", .run, environment: ["LD_PRELOAD": library])
            #expect(lines.isEmpty, "\(lines)")
        }
    }

    /// It waits only for pipes, in a child process of the same program.
    @Test func `the helper process of a server is stalled only while work is pending`() throws {
        let idle = try Self.lines("helper", .run)
        #expect(idle.isEmpty, "\(idle)")
        let lines = try Self.lines("helper-pending", .run)
        #expect(lines.count == 1 && lines.first?["pending"] as? Bool == true, "\(lines)")
    }

    /// A dialog of a text program waits only for the terminal, its loop also for other descriptors.
    @Test func `a prompt for user input is not a stall unless other work is pending`() async throws {
        try await atOnce(Way.allCases) { way in
            let lines = try Self.lines("asks", way)
            #expect(lines.isEmpty, "\(lines)")
            // Events for the loop that arrive during the dialog are pending.
            let waiting = try Self.lines("asks-pending", way, stalls: 1)
            #expect(waiting.count == 1 && waiting.first?["pending"] as? Bool == true, "\(waiting)")
        }
    }

    /// Neither thread ever sleeps in its wait.
    @Test func `work that another thread fetches is not pending`() throws {
        let lines = try Self.lines("shared-busy", .run)
        #expect(lines.isEmpty, "\(lines)")
    }

    @Test func `a record contains how long work was pending`() async throws {
        try await atOnce(Way.allCases) { way in
            // The work arrives after 100 of at least 1600 ms, and polls are about 10 ms apart; on a busy machine writer, handler
            // and polls may be late.
            let lines = try Self.lines("pending", way, stalls: 1)
            let line = try #require(lines.first)
            let waited = try #require(line["pending_ms"] as? Double)
            let lasted = try #require(line["duration_ms"] as? Double)
            let shown = waited < 1000 ? "\(Int(waited)) ms" : "\(Int(waited / 1000))"
            #expect(lines.count == 1 && line["pending"] as? Bool == true && waited >= lasted / 2 && waited < lasted, "\(line)")
            #expect((line["message"] as? String)?.contains(" while work waited for at least \(shown)") == true, "\(line)")
        }
    }
}
