internal import CLagRemote
internal import Foundation
internal import LagActivity
import LagDetection
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

    /// A thread that is sampled every 10 ms, and goes to sleep in `accept` at each of these times in ms.
    private static func hasLeft(
        _ candidacy: Candidacy,
        sleeps: [Range<UInt64>] = [0..<150],
        isProved: Bool = false,
        isAccepting: Bool = false
    ) -> Bool {
        for time in 0..<500 as Range<UInt64> where time % 10 == 0 {
            let sleep = sleeps.firstIndex { $0.contains(time) }
            let hasLeft = candidacy.leaves(
                at: sleep == nil ? nil : 4,
                runs: UInt64(sleep ?? 100),
                at: time * ms,
                isProved: isProved,
                isAccepting: isAccepting
            )
            #expect(candidacy.restsAt == (hasLeft ? 4 : nil))
            if hasLeft { return true }
        }
        return false
    }

    @Test func `a thread that rests in accept has left its loop unless that was proved before, or waits for the same socket`() {
        func hasLeft(job: Int32? = nil, isProved: Bool = false, isAccepting: Bool = false) -> Bool {
            let candidacy = Candidacy(isConfirmed: true, job: job.map { .init(listener: $0, nanoseconds: 0) })
            return Self.hasLeft(candidacy, isProved: isProved, isAccepting: isAccepting)
        }
        #expect(hasLeft() && !hasLeft(isProved: true) && !hasLeft(isAccepting: true))
        #expect(hasLeft(job: 4, isProved: true) && !hasLeft(job: 5, isProved: true) && !hasLeft(job: 4, isAccepting: true))
    }

    /// Such as the data connections of FTP.
    @Test func `a loop that accepts within its handlers for less than a rest goes on`() {
        let candidacy = Candidacy(isConfirmed: true, job: .init(listener: 4, nanoseconds: 0))
        #expect(!Self.hasLeft(candidacy, sleeps: [0..<50, 60..<150, 150..<240, 300..<310]))
        #expect(Self.hasLeft(candidacy, sleeps: [0..<90, 90..<200]))
    }

    @Test func `whether the loop is proved is queried once for each sleep`() {
        let candidacy = Candidacy(isConfirmed: true, job: nil)
        var queries = 0
        func isProved() -> Bool {
            queries += 1
            return true
        }
        for (time, runs) in zip(0..<100 as Range<UInt64>, [1, 2].flatMap { Array(repeating: UInt64($0), count: 50) }) {
            // Not within the macro, which evaluates its arguments.
            let hasLeft = candidacy.leaves(at: 4, runs: runs, at: time * 10 * Self.ms, isProved: isProved(), isAccepting: false)
            #expect(!hasLeft)
        }
        #expect(queries == 2)
    }

    /// The record of a completed stall may still be in the reporter's queue.
    @Test func `of a thread that has left its loop, only the last work is in doubt`() throws {
        var files = clr_thread_files()
        try #require(clr_thread_files_open(getpid(), getpid(), &files) == 0)
        let candidacy = Candidacy(isConfirmed: true, job: nil)
        let loop = AttachedLoop(
            ThreadIdentity(tid: getpid(), process: getpid(), stackLow: 0, stackHigh: 0),
            at: RestPlace(call: nil, stackPointer: 1000, programCounter: 7),
            files: files,
            semaphore: WakeSemaphore(),
            hold: 50 * Self.ms,
            mayCount: true,
            examiner: LoopExaminer(ProcessHandle(getpid()), tid: getpid(), isDeclared: false),
            candidacy: candidacy
        )
        loop.beacon.wake(.afterWaiting, at: 1000)
        loop.beacon.publish(.waiting)
        loop.beacon.wake(.afterWaiting, at: 2000)
        #expect(!loop.isDoubtful(at: 2000) && Self.hasLeft(candidacy))
        loop.beacon.publish(.finished)
        #expect(loop.isDoubtful(at: 2000) && !loop.isDoubtful(at: 1000))
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

    /// Its instance still exists.
    @Test func `a loop that has rested often and blocks in accept stalls`() throws {
        let process = try AttachedProcess("accept") { _ in }
        defer { process.end() }
        for count in 1...2 {
            #expect(eventually { process.watch.watchedProcess?.loops.first?.mayCauseAction == true })
            kill(process.pid, SIGUSR1)
            let lines = try process.ended(count)
            #expect(lines.count == count && lines.allSatisfy { $0.functions().contains("handler_that_accepts") }, "\(lines)")
        }
    }
}
