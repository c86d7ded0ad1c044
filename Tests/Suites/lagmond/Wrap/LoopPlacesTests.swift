internal import CLagRemote
internal import Foundation
internal import TestSupport
internal import Testing

/// Small programs that wait in the ways of pools and of loops, by both ways to watch them: one judge.
@Suite("What is a loop, and what waits for it", .serialized)
struct LoopPlacesTests {
    enum Way: String, CaseIterable, Sendable { case run, attach }

    /// - Parameter keepsRunqueue: with the stalls in which the thread got no processor.
    static func lines(
        _ name: String,
        _ way: Way,
        _ options: [String] = [],
        environment: [String: String] = [:],
        keepsRunqueue: Bool = false
    ) throws -> [[String: Any]] {
        var found: [[String: Any]] = []
        try withFolder { folder in
            let output = folder + "/stalls"
            let program = [ProbeRun.probe, "places", name]
            switch way {
            case .run:
                let run = try ProbeRun(
                    [ProbeRun.lagmond, "run", "--output", output] + options + ["--"] + program,
                    environment: environment
                )
                // What is not watched has no stalls either.
                #expect(run.status == 0 && run.errors.contains(/; watched loops: [1-9]/), "\(run.errors)")
            case .attach:
                let running = try RunningProbe(program)
                let attach = [ProbeRun.lagmond, "attach", "--pid", "\(running.pid)", "--listen", "0", "--output", output]
                let watch = try RunningProbe(attach + options)
                let port = try watch.port()
                // Until then it turns: what it does before, nobody can report.
                let isWatched = eventually {
                    LoopbackConnection.get("/metrics", port)?.contains(/lagmonitor_target_loops\{.*\} 1\n/) == true
                }
                #expect(isWatched)
                running.send("\n")
                let end = try watch.end()
                #expect(end.status == 0, "\(end.errors)")
                #expect(try running.end().status == 0)
            }
            let written = text(of: output).split(separator: "\n")
            found = try (keepsRunqueue ? written : withoutRunqueue(written)).compactMap {
                try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
            }
            // Without notices on what recurs.
            .filter { $0["duration_ms"] != nil }
        }
        return found
    }

    /// Whether the kernel counts how often a thread comes by a place.
    private static var hasWaitCounters: Bool {
        let counter = clr_wait_counter_open(0, 0x1000)
        if counter >= 0 { close(counter) }
        return counter >= 0
    }

    static func functions(_ line: [String: Any]) -> [String] {
        (line["frames"] as? [[String: Any]] ?? []).compactMap { $0["symbol"] as? String }
    }

    /// Every program in every way, at the same time.
    private static func cases(_ names: String...) -> [(name: String, way: Way)] {
        names.flatMap { name in Way.allCases.map { (name, $0) } }
    }

    @Test func `a pools rest is no stall`() async throws {
        try await atOnce(Self.cases("pool-peer", "pool-epoll", "pool-shared")) { name, way in
            let lines = try Self.lines(name, way)
            #expect(lines.isEmpty, "\(name) \(way): \(lines)")
        }
    }

    @Test func `a session of one client is no loop, a client of one server is`() async throws {
        try await atOnce(Way.allCases) { way in
            let served = try Self.lines("served", way)
            #expect(served.isEmpty, "\(served)")
            let connected = try Self.lines("connected", way)
            #expect(
                connected.count == 1 && connected.first.map { Self.functions($0).contains("handler_that_naps") } == true,
                "\(connected)"
            )
        }
    }

    @Test func `a loop that moves is found, with its stall and no other`() async throws {
        try await atOnce(Self.cases("start", "turns", "moving", "dialogue")) { name, way in
            let lines = try Self.lines(name, way)
            #expect(lines.count == 1, "\(name) \(way): \(lines)")
            let line = try #require(lines.first)
            #expect(Self.functions(line).contains("handler_that_naps"), "\(name) \(way): \(line)")
            #expect(line["pending"] as? Bool == false && line["pending_ms"] == nil)
        }
    }

    @Test func `a loop that makes an instance for each wait is one, though there is none while its handler runs`() throws {
        let lines = try Self.lines("made-anew", .run)
        #expect(lines.count == 1, "\(lines)")
        #expect(
            lines.first.map { Self.functions($0).contains("handler_that_waits_for_a_lock") } == true
                && lines.first?["pending"] == nil
        )
    }

    @Test func `a loop on poll is the same one since the process has threads`() async throws {
        try await atOnce(Way.allCases) { way in
            let lines = try Self.lines("threaded", way)
            #expect(lines.count == 2 && lines.allSatisfy { Self.functions($0).contains("handler_that_naps") }, "\(lines)")
            #expect(lines.allSatisfy { way == .run || $0["duration_min_ms"] != nil }, "\(lines)")
        }
    }

    /// As Asio's and libuv's: what a handler waits in lies further out than the loop's wait, and nothing is pending. Or as gpsd's, whose wait has room for messages.
    @Test(arguments: Way.allCases, ["beside", "beside-text"])
    func `a handler beside a wait with a large frame is a stall`(way: Way, name: String) throws {
        let lines = try Self.lines(name, way)
        #expect(lines.count == 1 && lines.first?["pending"] as? Bool == false, "\(lines)")
        #expect(lines.first.map { Self.functions($0).contains("handler_that_waits_for_a_lock") } == true)
    }

    @Test func `what a handler waits for is a stall while nothing is pending`() async throws {
        try await atOnce(Way.allCases) { way in
            let lines = try Self.lines("lock", way)
            #expect(lines.count == 1 && lines.first?["pending"] as? Bool == false, "\(lines)")
            #expect(lines.first.map { Self.functions($0).contains("handler_that_waits_for_a_lock") } == true)
        }
    }

    /// Where a thread of a Java machine sleeps does not say whether it has left its loop, and by this one nobody is served.
    @Test func `a lock beside a Java loop without a channel is a pools rest`() throws {
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

    @Test func `what comes after the last wait of a program that exits is no stall`() throws {
        let lines = try Self.lines("exits", .run)
        #expect(lines.count == 1 && lines.first?["phase"] as? String == "end", "\(lines)")
        #expect(lines.first.map { Self.functions($0).contains("handler_that_naps") } == true, "\(lines)")
        // What was reported while it lasted has its end.
        let hangs = try Self.lines("exits", .run, ["--hang-after-ms", "600"])
        #expect(hangs.map { $0["phase"] as? String } == ["end", "begin", "end"], "\(hangs)")
    }

    @Test func `waits within a handler do not end its stall`() async throws {
        try await atOnce(Way.allCases) { way in
            let lines = try Self.lines("polls", way)
            #expect(lines.count == 1, "\(lines)")
            let line = try #require(lines.first)
            // Ten waits of 100 ms: taken for iterations they leave no stall.
            let lasted = try #require(line["duration_ms"] as? Double)
            #expect(lasted >= 900 && Self.functions(line).contains("handler_that_polls"), "\(line)")
        }
    }

    /// It waits for pipes alone, in a child of the same program.
    @Test func `a servers helper is stalled only while work waits for it`() throws {
        let idle = try Self.lines("helper", .run)
        #expect(idle.isEmpty, "\(idle)")
        let lines = try Self.lines("helper-pending", .run)
        #expect(lines.count == 1 && lines.first?["pending"] as? Bool == true, "\(lines)")
    }

    /// Of a small loop, which waits for one descriptor itself.
    @Test func `a library that waits for several descriptors again and again is within its handler`() throws {
        let lines = try Self.lines("clients-library", .run)
        #expect(
            lines.count == 1 && lines.first.map { Self.functions($0).contains("handler_that_asks_often") } == true,
            "\(lines)"
        )
        #expect(lines.first.flatMap { $0["duration_ms"] as? Double } ?? 0 >= 500, "\(lines)")
    }

    @Test func `who was asked to end waits for its workers, which is no stall`() throws {
        // By itself it is one.
        let lines = try Self.lines("ends-with-worker", .run)
        #expect(
            lines.count == 1 && lines.first.map { Self.functions($0).contains("handler_that_waits_for_a_child") } == true,
            "\(lines)"
        )
        try withFolder { folder in
            let output = folder + "/stalls"
            let run = try RunningProbe([
                ProbeRun.lagmond, "run", "--output", output, "--", ProbeRun.probe, "places", "ends-with-worker",
            ])
            _ = try run.complaint(containing: "watching main of ForeignProbe")
            kill(run.pid, SIGTERM)
            let end = try run.end()
            #expect(end.status == 0, "\(end.errors)")
            #expect(text(of: output).isEmpty, "\(text(of: output))")
        }
    }

    @Test func `a worker that takes all out of its set is no helper`() throws {
        let lines = try Self.lines("reload", .run)
        #expect(lines.count == 1 && lines.first.map { Self.functions($0).contains("handler_that_reloads") } == true, "\(lines)")
    }

    /// It waits for all that the loop around it waits for.
    @Test func `a loop within a handler is a rest`() async throws {
        try await atOnce(Way.allCases) { way in
            let dialog = try Self.lines("modal", way)
            #expect(dialog.isEmpty, "\(dialog)")
            // What keeps it from its wait is a stall all the same.
            let lines = try Self.lines("modal-stalls", way)
            #expect(lines.count == 1, "\(lines)")
            #expect(lines.first.map { Self.functions($0).contains("handler_that_naps") } == true)
        }
    }

    /// A dialog of a text program waits for the terminal alone, its loop for other things as well.
    @Test func `a question to the user is a rest`() async throws {
        try await atOnce(Way.allCases) { way in
            let lines = try Self.lines("asks", way)
            #expect(lines.isEmpty, "\(lines)")
            // What comes meanwhile for the loop waits.
            let waiting = try Self.lines("asks-pending", way)
            #expect(waiting.count == 1 && waiting.first?["pending"] as? Bool == true, "\(waiting)")
        }
    }

    @Test func `a script that sleeps between its rounds has no loop`() async throws {
        try await atOnce(Way.allCases) { way in
            let lines = try Self.lines("sleeps", way)
            #expect(lines.isEmpty, "\(lines)")
        }
    }

    /// Neither of the threads ever sleeps in its wait.
    @Test func `what another thread fetches waits for nobody`() throws {
        let lines = try Self.lines("shared-busy", .run)
        #expect(lines.isEmpty, "\(lines)")
    }

    @Test func `work that waits is in the record`() async throws {
        try await atOnce(Way.allCases) { way in
            let lines = try Self.lines("pending", way)
            let line = try #require(lines.first)
            // It came after 100 of 400 ms or more, and the looks are some 10 ms apart; on a busy machine writer, handler and looks may be late.
            let waited = try #require(line["pending_ms"] as? Double)
            let lasted = try #require(line["duration_ms"] as? Double)
            // A busy machine may make it more than a second.
            let shown = waited < 1000 ? "\(Int(waited)) ms" : "\(Int(waited / 1000))"
            #expect(lines.count == 1 && line["pending"] as? Bool == true && waited >= 50 && waited < lasted, "\(line)")
            #expect((line["message"] as? String)?.contains(" while work waited for at least \(shown)") == true, "\(line)")
        }
    }

    /// Two seconds of turns without a rest. Where the kernel gives no counter at the loop's wait, attach cannot know.
    @Test func `turns without a rest are a starvation for who asks`() async throws {
        try await atOnce(Way.allCases) { way in
            #expect(try Self.lines("starve", way).isEmpty)
            // On a busy machine what the turns wait for is a processor: a starvation still.
            let found = try Self.lines("starve", way, ["--starvation-ms", "500"], keepsRunqueue: true)
            guard way == .run || Self.hasWaitCounters else { return }
            // A turn that is a stall itself, on a busy machine, ends it, and another one begins.
            let starvations = found.filter { $0["kind"] as? String == "starvation" }
            let line = try #require(starvations.first, "\(found)")
            #expect(starvations.allSatisfy { ($0["duration_ms"] as? Double ?? 0) >= 500 }, "\(found)")
            let turns = line["turns"] as? Int
            #expect(way == .run ? (turns ?? 0) > 1 : turns == nil, "\(line)")
            if let turns {
                #expect((line["message"] as? String)?.contains(", in \(turns) turns without a rest") == true, "\(line)")
            }
            if line["capture"] as? String != "none" {
                #expect(Self.functions(line).contains("handler_that_computes_briefly"), "\(line)")
            }
        }
    }

    @Test func `a busy loop that sleeps now and then is not starved`() async throws {
        try await atOnce(Way.allCases) { way in
            let lines = try Self.lines("busy", way, ["--starvation-ms", "500"])
            #expect(lines.allSatisfy { $0["kind"] as? String == "callout" }, "\(lines)")
        }
    }

    /// What looks like one long callback from outside.
    @Test func `one turn of many short callbacks says how many`() async throws {
        try await atOnce(Way.allCases) { way in
            // A busy machine may stall other turns as well.
            let lines = try Self.lines("crowd", way, keepsRunqueue: true)
                .filter { Self.functions($0).contains("handler_that_computes_briefly") }
            let line = try #require(lines.first)
            #expect(lines.count == 1 && line["kind"] as? String == "callout", "\(lines)")
            #expect(line["turn_events"] as? Int == (way == .run ? 64 : nil), "\(line)")
            if way == .run { #expect((line["message"] as? String)?.contains(", in one turn of 64 events") == true, "\(line)") }
        }
    }
}
