internal import Foundation
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// A stall after a thread's first wait is reported once that wait proves to be the wait of a loop, and only then.
@Suite(.serialized) struct FirstStallTests {
    /// A watched program in its first wait.
    private func start(_ name: String) throws -> RemoteProcess {
        let process = try RemoteProcess(["first"] + name.split(separator: " ").map(String.init))
        #expect(process.isCandidateWatched())
        #expect(process.watch.watchedLoops == 0 && process.watch.begunLoops == 0 && process.watch.watchedProcesses.isEmpty)
        return process
    }

    /// The time at which the program printed this word next, in microseconds of `CLOCK_MONOTONIC`.
    private func time(_ word: String, of process: RemoteProcess) throws -> UInt64 {
        let parts = try #require(process.nextLine()).split(separator: " ")
        try #require(parts.count == 2 && parts[0] == word, "\(parts)")
        return try #require(UInt64(parts[1]))
    }

    /// `set-client`: fast round trips by poll within the first iteration are not mistaken for the loop.
    @Test(arguments: [
        "loop", "client", "set-client", "set", "set ppoll", "set select", "set pselect", "listener", "thread", "set-thread",
        "few-thread", "few-set-thread",
    ])
    func `a stall after the first wait is reported in one record`(name: String) throws {
        let process = try start(name)
        defer { process.end() }
        process.send("\n")
        let (begun, ended, turned) = try (
            time("stalling", of: process), time("stalled", of: process), time("turned", of: process)
        )
        let line = try process.line("end")
        let isMain = !name.contains("thread")
        #expect((line["loop"] as? String == "main") == isMain && line.functions().contains("first_handler"), "\(line)")
        let start = try #require(line["mono_us"] as? NSNumber).uint64Value
        let duration = UInt64(try #require(line["duration_ms"] as? Double) * 1000)
        // Exact to a millisecond, from the wait's end to the next wait: a record of only a part would fail.
        #expect(start <= begun + 1000 && start + duration + 1000 >= ended, "\(begun) \(ended): \(line)")
        #expect(start + duration <= turned + 1000, "\(turned): \(line)")
        // A loop of few iterations has ended.
        #expect(name.hasPrefix("few") || eventually { process.watch.watchedLoops == 1 })
        process.end()
        #expect(process.reported.count == 1 && process.watch.begunLoops == 1, "\(process.reported)")
    }

    @Test(arguments: ["poll", "other", "renewed", "answer", "children", "pool"])
    func `work of a startup or a pool thread between its waits is not reported as a stall`(name: String) throws {
        let process = try start(name)
        defer { process.end() }
        process.send("\n")
        for word in ["stalling", "stalled", "turned"] { _ = try time(word, of: process) }
        #expect(eventually { process.watch.watchedLoops == 1 })
        // That one waits for time alone.
        let begun: UInt64 = name == "poll" ? 0 : 1
        #expect(eventually { process.watch.begunLoops == begun })
        #expect(eventually { process.watch.watchedProcesses.map(\.eventLoops.count) == [Int(begun)] })
        process.end()
        #expect(process.reported.isEmpty && process.watch.begunLoops == begun, "\(process.reported)")
    }

    /// Nothing else shows that a poll set belongs to a loop.
    @Test func `a stall after an unobserved wait in poll is not reported`() throws {
        let process = try RemoteProcess(["first", "at-once"])
        defer { process.end() }
        for word in ["stalling", "stalled", "turned"] { _ = try time(word, of: process) }
        #expect(eventually { process.watch.watchedLoops == 1 })
        process.end()
        #expect(process.reported.isEmpty && process.watch.begunLoops == 1, "\(process.reported)")
    }

    @Test func `an exit after one wait is not reported as a stall`() throws {
        let process = try start("exit")
        defer { process.end() }
        process.send("\n")
        for word in ["stalling", "stalled"] { _ = try time(word, of: process) }
        #expect(process.nextLine() == nil)
        process.end()
        #expect(process.reported.isEmpty && process.watch.begunLoops == 0, "\(process.reported)")
    }

    /// By epoll, or by a set that belongs to a server because a client was accepted there. `hang-on-instance`: the handler waits
    /// on an epoll instance, as a start might that has left the set.
    @Test(arguments: [
        "hang-with-client", "hang-with-second-client", "hang-with-second-client select", "hang-with-second-client ppoll",
        "hang-on-instance",
    ])
    func `a hang after the first wait is reported while a client waits`(name: String) throws {
        let process = try start(name)
        defer { process.end() }
        // A hang is measured from its beginning, but causes no action before its thread is known to be a loop.
        #expect(eventually { !process.watch.provisionalProcesses.isEmpty })
        let candidate = try #require(process.watch.provisionalProcesses.first?.loops.first)
        #expect(!candidate.mayCauseAction)
        process.send("\n")
        _ = try time("stalling", of: process)
        let line = try process.line("begin")
        #expect(line["pending"] as? Bool == true && line.functions().contains("first_handler"), "\(line)")
        // It is in either list at any time: a hang is measured on.
        var isMissed = false
        let isWatched = eventually {
            let loops = process.watch.watchedAndProvisionalProcesses.flatMap(\.loops)
            if !loops.contains(where: { $0 === candidate }) { isMissed = true }
            return process.watch.watchedLoops == 1 && process.watch.watchedProcesses.first?.loops.count == 1
        }
        #expect(isWatched && !isMissed)
        #expect(process.watch.watchedProcesses.first?.loops.first === candidate && candidate.mayCauseAction)
        #expect(eventually { process.watch.provisionalProcesses.isEmpty })
        // The library, which has seen one wait, withdraws it at a regular exit. The kernel has shown a loop.
        kill(process.pid, SIGTERM)
        #expect(eventually { process.watch.watchedLoops == 0 })
        #expect(process.watch.begunLoops == 1)
    }

    /// By poll, when clients are already waiting: the thread is never found in its wait.
    @Test func `a hang after an unobserved first wait is reported while a client waits`() throws {
        let process = try RemoteProcess(["first", "hang-at-once"])
        defer { process.end() }
        let line = try process.line("begin")
        #expect(line["pending"] as? Bool == true && line.functions().contains("first_handler"), "\(line)")
    }

    @Test func `the listening socket of a connection is not guessed`() throws {
        let process = try RemoteProcess(["first", "hang-at-once-of-two"])
        defer { process.end() }
        _ = try time("stalling", of: process)
        usleep(3_000_000)
        #expect(process.watch.watchedLoops == 0 && process.reported.isEmpty, "\(process.reported)")
    }

    @Test(arguments: ["hang-with-event", "hang-before-accept"])
    func `a startup with a listening socket is not reported for its own wakeup or its first client`(name: String) throws {
        let process = try start(name)
        defer { process.end() }
        process.send("\n")
        _ = try time("stalling", of: process)
        usleep(3_000_000)
        #expect(process.watch.watchedLoops == 0 && process.reported.isEmpty, "\(process.reported)")
    }

    @Test func `a process killed before its second wait leaves no record`() throws {
        let process = try start("hang")
        defer { process.end() }
        process.send("\n")
        _ = try time("stalling", of: process)
        usleep(1_000_000)
        #expect(process.watch.stallsInProgress == 0)
        process.end()
        #expect(process.reported.isEmpty, "\(process.reported)")
        #expect(process.watch.begunLoops == 0 && process.watch.totalStatistics.stalls == 0)
    }
}
