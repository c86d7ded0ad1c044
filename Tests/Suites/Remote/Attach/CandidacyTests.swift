internal import Foundation
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

@Suite("Threads that are watched from outside before they are known to be loops")
struct CandidacyTests {
    private static let ms: UInt64 = 1_000_000

    @Test func `three rests prove a loop if they are not all within half a second`() {
        let candidacy = Candidacy(isConfirmed: false, job: nil)
        for (runs, time) in [(1, 0), (1, 900), (2, 950)] as [(UInt64, UInt64)] {
            candidacy.recordRest(runs: runs, at: time * Self.ms)
            #expect(!candidacy.isConfirmed)
        }
        candidacy.recordRest(runs: 3, at: 960 * Self.ms)
        #expect(candidacy.isConfirmed)
        let brief = Candidacy(isConfirmed: false, job: nil)
        for runs in 1..<20 as Range<UInt64> { brief.recordRest(runs: runs, at: runs * 20 * Self.ms) }
        #expect(!brief.isConfirmed)
    }

    @Test func `a thread that rests in accept has left its loop unless that was proved before, or waits for the same socket`() {
        func leaves(job: Int32? = nil, isProved: Bool = false, isAccepting: Bool = false) -> Bool {
            let candidacy = Candidacy(isConfirmed: true, job: job.map { .init(listener: $0, nanoseconds: 0) })
            let hasLeft = candidacy.leaves(at: 4, isProved: isProved) { isAccepting }
            #expect(candidacy.restsAt == (hasLeft ? 4 : nil))
            return hasLeft
        }
        #expect(leaves() && !leaves(isProved: true) && !leaves(isAccepting: true))
        #expect(leaves(job: 4, isProved: true) && !leaves(job: 5, isProved: true) && !leaves(job: 4, isAccepting: true))
    }

    /// Before, a thread other than the main thread was found by its third wait.
    @Test func `the first work of a worker thread is reported if it stalls`() throws {
        let process = try AttachedProcess("seldom") { _ in }
        defer { process.end() }
        let line = try process.line("end")
        #expect(line["loop"] as? String == "worker" && line.functions().contains("handler_that_sleeps"), "\(line)")
        process.waitUntilWatched()
    }

    @Test func `a thread that rests in accept runs no loop, whatever its jobs wait for`() throws {
        let process = try AttachedProcess("jobs") { _ in }
        defer { process.end() }
        for _ in 0..<3000 where !process.watch.isOver { usleep(10_000) }
        let lines = withoutRunqueue(process.sink.lines)
        #expect(process.watch.isOver && lines.isEmpty, "\(lines)")
    }
}
