internal import Foundation
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// What a thread does after its first wait is reported once that has turned out to be a loop's, and only then.
@Suite(.serialized) struct FirstStallTests {
    /// A program that is watched, and in its first wait.
    private func start(_ name: String) throws -> RemoteProcess {
        let process = try RemoteProcess(["first"] + name.split(separator: " ").map(String.init))
        #expect(process.isCandidateWatched())
        #expect(process.watch.watchedLoops == 0 && process.watch.begunLoops == 0 && process.watch.watchedProcesses.isEmpty)
        return process
    }

    /// When the program said this next, in microseconds of `CLOCK_MONOTONIC`.
    private func time(_ word: String, of process: RemoteProcess) throws -> UInt64 {
        let parts = try #require(process.nextLine()).split(separator: " ")
        try #require(parts.count == 2 && parts[0] == word, "\(parts)")
        return try #require(UInt64(parts[1]))
    }

    /// `set-client`: round trips by poll within the first turn, as fast as answers are, do not take the loop's place.
    @Test(arguments: [
        "loop", "client", "set-client", "set", "set ppoll", "set select", "set pselect", "listener", "thread", "set-thread",
        "few-thread", "few-set-thread",
    ])
    func `a stall after the first wait is one record`(name: String) throws {
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
        // Exact to a millisecond: from the wait's end to the next wait, which no record of a part of it could be.
        #expect(start <= begun + 1000 && start + duration + 1000 >= ended, "\(begun) \(ended): \(line)")
        #expect(start + duration <= turned + 1000, "\(turned): \(line)")
        // One of few turns has ended.
        #expect(name.hasPrefix("few") || eventually { process.watch.watchedLoops == 1 })
        process.end()
        #expect(process.reported.count == 1 && process.watch.begunLoops == 1, "\(process.reported)")
    }

    @Test(arguments: ["poll", "other", "renewed", "answer", "children", "pool"])
    func `what a start or a pool does between its waits is no stall`(name: String) throws {
        let process = try start(name)
        defer { process.end() }
        process.send("\n")
        for word in ["stalling", "stalled", "turned"] { _ = try time(word, of: process) }
        #expect(eventually { process.watch.watchedLoops == 1 })
        process.end()
        #expect(process.reported.isEmpty && process.watch.begunLoops == 1, "\(process.reported)")
    }

    /// Of a set nothing else says that it is a loop's.
    @Test func `a stall after a wait by poll that nobody has seen is not reported`() throws {
        let process = try RemoteProcess(["first", "at-once"])
        defer { process.end() }
        for word in ["stalling", "stalled", "turned"] { _ = try time(word, of: process) }
        #expect(eventually { process.watch.watchedLoops == 1 })
        process.end()
        #expect(process.reported.isEmpty && process.watch.begunLoops == 1, "\(process.reported)")
    }

    @Test func `an exit after one wait is no stall`() throws {
        let process = try start("exit")
        defer { process.end() }
        process.send("\n")
        for word in ["stalling", "stalled"] { _ = try time(word, of: process) }
        #expect(process.nextLine() == nil)
        process.end()
        #expect(process.reported.isEmpty && process.watch.begunLoops == 0, "\(process.reported)")
    }

    /// By epoll; by a set, which is a server's, as a client was accepted there.
    @Test(arguments: [
        "hang-with-client", "hang-with-second-client", "hang-with-second-client select", "hang-with-second-client ppoll",
    ])
    func `a hang after the first wait is reported while a client waits`(name: String) throws {
        let process = try start(name)
        defer { process.end() }
        process.send("\n")
        _ = try time("stalling", of: process)
        let line = try process.line("begin")
        #expect(line["pending"] as? Bool == true && line.functions().contains("first_handler"), "\(line)")
        #expect(eventually { process.watch.watchedLoops == 1 && process.watch.watchedProcesses.count == 1 })
    }

    /// By poll, where clients wait already: the thread is never found in its wait.
    @Test func `a hang after a first wait that nobody has seen is reported while a client waits`() throws {
        let process = try RemoteProcess(["first", "hang-at-once"])
        defer { process.end() }
        let line = try process.line("begin")
        #expect(line["pending"] as? Bool == true && line.functions().contains("first_handler"), "\(line)")
    }

    @Test func `where a connection has come from is not guessed`() throws {
        let process = try RemoteProcess(["first", "hang-at-once-of-two"])
        defer { process.end() }
        _ = try time("stalling", of: process)
        usleep(3_000_000)
        #expect(process.watch.watchedLoops == 0 && process.reported.isEmpty, "\(process.reported)")
    }

    @Test(arguments: ["hang-with-event", "hang-before-accept"])
    func `a start that has a listening socket is no hang for a wake up of its own, nor for its first client`(name: String) throws
    {
        let process = try start(name)
        defer { process.end() }
        process.send("\n")
        _ = try time("stalling", of: process)
        usleep(3_000_000)
        #expect(process.watch.watchedLoops == 0 && process.reported.isEmpty, "\(process.reported)")
    }

    @Test func `a process that is killed before its second wait leaves no record`() throws {
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
