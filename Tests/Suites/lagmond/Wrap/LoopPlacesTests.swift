internal import CLagRemote
internal import Foundation
internal import TestSupport
internal import Testing

/// Small programs that wait as pools or loops do, watched in both ways with the same results.
@Suite("Detection of loops and of pending work", .serialized)
struct LoopPlacesTests {
    enum Way: String, CaseIterable, Sendable { case run, attach }

    /// - Parameters:
    ///   - keepsRunqueue: also returns stalls in which the thread got no processor.
    ///   - hasLoop: whether the program has a loop.
    ///   - stalls: how many the program has. From outside, only samples find them: if lagmond gets no processor while one lasts,
    ///     it cannot know of it afterwards, and the program is run again.
    ///   - isWanted: on a busy machine other iterations may stall, too. Their lines are left out.
    static func lines(
        _ name: String,
        _ way: Way,
        _ options: [String] = [],
        environment: [String: String] = [:],
        keepsRunqueue: Bool = false,
        hasLoop: Bool = true,
        stalls: Int = 0,
        where isWanted: ([String: Any]) -> Bool = { _ in true }
    ) throws -> [[String: Any]] {
        var found: [[String: Any]] = []
        for _ in Attempts("\(stalls) stalls of \(name), \(way)") {
            found = try run(name, way, options, environment, keepsRunqueue, hasLoop).filter(isWanted)
            if way == .run || found.count >= stalls { break }
        }
        return found
    }

    private static func run(
        _ name: String,
        _ way: Way,
        _ options: [String],
        _ environment: [String: String],
        _ keepsRunqueue: Bool,
        _ hasLoop: Bool
    ) throws -> [[String: Any]] {
        var found: [[String: Any]] = []
        try withFolder { folder in
            let output = folder + "/stalls"
            let program = [ProbeRun.probe, "places", name]
            // A program that is not watched would have no stalls either.
            let summary = hasLoop ? /; watched loops: [1-9]/ : /; watched loops: 0/
            switch way {
            case .run:
                let run = try ProbeRun(
                    [ProbeRun.lagmond, "run", "--output", output] + options + ["--"] + program,
                    environment: environment
                )
                #expect(run.status == 0 && run.errors.contains(summary), "\(run.errors)")
            case .attach:
                let running = try RunningProbe(program)
                let attach = [ProbeRun.lagmond, "attach", "--pid", "\(running.pid)", "--listen", "0", "--output", output]
                let watch = try RunningProbe(attach + options)
                let port = try watch.port()
                // The program iterates until it is watched: earlier stalls cannot be reported.
                let sign = hasLoop ? /lagmonitor_target_loops\{.*\} 1\n/ : /lagmonitor_target_up\{.*\} 1\n/
                let isWatched = eventually { LoopbackConnection.get("/metrics", port)?.contains(sign) == true }
                #expect(isWatched)
                // Time in which a loop would be found.
                if !hasLoop { usleep(1_000_000) }
                running.send("\n")
                let end = try watch.end()
                #expect(end.status == 0 && end.errors.contains(summary), "\(end.errors)")
                #expect(try running.end().status == 0)
            }
            let written = text(of: output).split(separator: "\n")
            found = try (keepsRunqueue ? written : withoutRunqueue(written)).compactMap {
                try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
            }
            // Without recurrence notices.
            .filter { $0["duration_ms"] != nil }
        }
        return found
    }

    /// Whether the kernel counts how often a thread passes an address.
    private static var hasWaitCounters: Bool {
        let counter = clr_wait_counter_open(0, 0x1000)
        if counter >= 0 { close(counter) }
        return counter >= 0
    }

    static func functions(_ line: [String: Any]) -> [String] {
        (line["frames"] as? [[String: Any]] ?? []).compactMap { $0["symbol"] as? String }
    }

    /// One stall, in this function.
    static func expectStall(_ lines: [[String: Any]], in function: String, _ location: SourceLocation = #_sourceLocation) {
        let found = lines.map(functions)
        #expect(found.count == 1 && found[0].contains(function), "\(lines)", sourceLocation: location)
    }

    /// Every program, watched in every way, concurrently.
    private static func cases(_ names: String...) -> [(name: String, way: Way)] {
        names.flatMap { name in Way.allCases.map { (name, $0) } }
    }

    @Test func `an idle pool thread is not a stall`() async throws {
        try await atOnce(Self.cases("pool-peer", "pool-epoll", "pool-shared")) { name, way in
            let lines = try Self.lines(name, way)
            #expect(lines.isEmpty, "\(name) \(way): \(lines)")
        }
    }

    @Test func `serving one client in a session is not a loop, but a client of one server is`() async throws {
        try await atOnce(Way.allCases) { way in
            let served = try Self.lines("served", way)
            #expect(served.isEmpty, "\(served)")
            let connected = try Self.lines("connected", way, stalls: 1)
            Self.expectStall(connected, in: "handler_that_naps")
        }
    }

    @Test func `a loop whose call site changes is found, with only its stall`() async throws {
        try await atOnce(Self.cases("start", "turns", "moving", "dialogue", "round-trips")) { name, way in
            let lines = try Self.lines(name, way, stalls: 1)
            #expect(lines.count == 1, "\(name) \(way): \(lines)")
            let line = try #require(lines.first)
            #expect(Self.functions(line).contains("handler_that_naps"), "\(name) \(way): \(line)")
            #expect(line["pending"] as? Bool == false && line["pending_ms"] == nil)
        }
    }

    @Test func `a loop that creates a new polling instance for each wait is found`() throws {
        let lines = try Self.lines("made-anew", .run)
        Self.expectStall(lines, in: "handler_that_waits_for_a_lock")
        #expect(lines.first?["pending"] == nil)
    }

    @Test func `a poll loop stays the same loop when the process becomes multithreaded`() async throws {
        try await atOnce(Way.allCases) { way in
            let lines = try Self.lines("threaded", way, stalls: 2)
            #expect(lines.count == 2 && lines.allSatisfy { Self.functions($0).contains("handler_that_naps") }, "\(lines)")
            #expect(lines.allSatisfy { way == .run || $0["duration_min_ms"] != nil }, "\(lines)")
        }
    }

    @Test func `the time between the last wait and the exit of a program is not a stall`() throws {
        let lines = try Self.lines("exits", .run)
        Self.expectStall(lines, in: "handler_that_naps")
        #expect(lines.first?["phase"] as? String == "end")
        // A stall that was reported while it lasted also gets its end.
        let hangs = try Self.lines("exits", .run, ["--hang-after-ms", "600"])
        #expect(hangs.map { $0["phase"] as? String } == ["end", "begin", "end"], "\(hangs)")
    }

    @Test func `waits within a handler do not end its stall`() async throws {
        try await atOnce(Way.allCases) { way in
            let lines = try Self.lines("polls", way, stalls: 1)
            #expect(lines.count == 1, "\(lines)")
            let line = try #require(lines.first)
            // Ten waits of 100 ms: if they counted as iterations, no stall would be left.
            let lasted = try #require(line["duration_ms"] as? Double)
            #expect(lasted >= 900 && Self.functions(line).contains("handler_that_polls"), "\(line)")
        }
    }

    /// The loop itself is small and waits for one descriptor.
    @Test func `repeated waits of a library inside a handler are part of the stall`() throws {
        let lines = try Self.lines("clients-library", .run)
        Self.expectStall(lines, in: "handler_that_asks_often")
        #expect(lines.first.flatMap { $0["duration_ms"] as? Double } ?? 0 >= 500, "\(lines)")
    }

    @Test func `waiting for workers after a termination signal is not a stall`() throws {
        // Without the signal it is a stall.
        let lines = try Self.lines("ends-with-worker", .run)
        Self.expectStall(lines, in: "handler_that_waits_for_a_child")
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

    @Test func `a worker that removes every descriptor from its set is not taken for a helper`() throws {
        let lines = try Self.lines("reload", .run)
        Self.expectStall(lines, in: "handler_that_reloads")
    }

    /// The nested loop waits for all descriptors of the outer loop.
    @Test func `an idle nested loop inside a handler is not a stall`() async throws {
        try await atOnce(Way.allCases) { way in
            let dialog = try Self.lines("modal", way)
            #expect(dialog.isEmpty, "\(dialog)")
            // A handler of the nested loop can still stall it.
            let lines = try Self.lines("modal-stalls", way, stalls: 1)
            Self.expectStall(lines, in: "handler_that_naps")
        }
    }

    @Test func `a script that sleeps between its rounds has no loop`() async throws {
        try await atOnce(Way.allCases) { way in
            let lines = try Self.lines("sleeps", way, hasLoop: false)
            #expect(lines.isEmpty, "\(lines)")
        }
    }

    /// Two seconds of iterations without a wait. If the kernel gives no counter at the loop's wait, attach cannot detect them.
    @Test func `iterations without a wait are reported as starvation if the rule is on`() async throws {
        try await atOnce(Way.allCases) { way in
            #expect(try Self.lines("starve", way).isEmpty)
            // On a busy machine the iterations wait for a processor, which is a starvation too.
            let stalls = Self.hasWaitCounters ? 1 : 0
            let found = try Self.lines("starve", way, ["--starvation-ms", "500"], keepsRunqueue: true, stalls: stalls) {
                // On a busy machine, an iteration that is a stall itself ends the starvation, and another one begins.
                $0["kind"] as? String == "starvation"
            }
            guard way == .run || Self.hasWaitCounters else { return }
            let line = try #require(found.first)
            #expect(found.allSatisfy { ($0["duration_ms"] as? Double ?? 0) >= 500 }, "\(found)")
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

    @Test func `a busy loop that sleeps from time to time is not starved`() async throws {
        try await atOnce(Way.allCases) { way in
            let lines = try Self.lines("busy", way, ["--starvation-ms", "500"])
            #expect(lines.allSatisfy { $0["kind"] as? String == "callout" }, "\(lines)")
        }
    }

    /// From outside this looks like one long callback.
    @Test func `an iteration with many short callbacks reports their number`() async throws {
        try await atOnce(Way.allCases) { way in
            let lines = try Self.lines("crowd", way, keepsRunqueue: true, stalls: 1) {
                Self.functions($0).contains("handler_that_computes_briefly")
            }
            let line = try #require(lines.first)
            #expect(lines.count == 1 && line["kind"] as? String == "callout", "\(lines)")
            #expect(line["turn_events"] as? Int == (way == .run ? 64 : nil), "\(line)")
            if way == .run { #expect((line["message"] as? String)?.contains(", in one turn of 64 events") == true, "\(line)") }
        }
    }
}
