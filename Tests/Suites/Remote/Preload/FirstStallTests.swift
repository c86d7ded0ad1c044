internal import Foundation
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// What a main thread does after its first wait is reported once that has turned out to be a loop's, and only then.
@Suite(.serialized) struct FirstStallTests {
    /// A program that is watched, and in its first wait.
    private func start(_ name: String) throws -> RemoteProcess {
        let process = try RemoteProcess(["first", name])
        #expect(process.hasProvisionalClaim())
        #expect(process.watch.watchedLoops == 0 && process.watch.begunLoops == 0 && process.watch.watchedProcesses.isEmpty)
        return process
    }

    /// When the program said this next, in microseconds of `CLOCK_MONOTONIC`.
    private func time(_ word: String, of process: RemoteProcess) throws -> UInt64 {
        let parts = try #require(process.nextLine()).split(separator: " ")
        try #require(parts.count == 2 && parts[0] == word, "\(parts)")
        return try #require(UInt64(parts[1]))
    }

    @Test func `a stall after the first wait is one record`() throws {
        let process = try start("loop")
        defer { process.end() }
        process.send("\n")
        let (begun, ended, turned) = try (
            time("stalling", of: process), time("stalled", of: process), time("turned", of: process)
        )
        let line = try process.line("end")
        #expect(line["loop"] as? String == "main" && line.functions().contains("first_handler"), "\(line)")
        let start = try #require(line["mono_us"] as? NSNumber).uint64Value
        let duration = UInt64(try #require(line["duration_ms"] as? Double) * 1000)
        // Exact to a millisecond: from the wait's end to the next wait, which no record of a part of it could be.
        #expect(start <= begun + 1000 && start + duration + 1000 >= ended, "\(begun) \(ended): \(line)")
        #expect(start + duration <= turned + 1000, "\(turned): \(line)")
        #expect(eventually { process.watch.watchedLoops == 1 })
        process.end()
        #expect(process.reported.count == 1 && process.watch.begunLoops == 1, "\(process.reported)")
    }

    @Test(arguments: ["poll", "other", "renewed"])
    func `what a start does between its one wait and the loop is no stall`(name: String) throws {
        let process = try start(name)
        defer { process.end() }
        process.send("\n")
        for word in ["stalling", "stalled", "turned"] { _ = try time(word, of: process) }
        #expect(eventually { process.watch.watchedLoops == 1 })
        process.end()
        #expect(process.reported.isEmpty && process.watch.begunLoops == 1, "\(process.reported)")
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
