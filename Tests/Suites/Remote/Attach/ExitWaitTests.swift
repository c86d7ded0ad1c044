internal import CLagBeacon
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import LagRemote

struct ExitWaitTests {
    private static let second: UInt64 = 1_000_000_000

    private let process: Process
    private let handle: ProcessHandle
    private let wait = ExitWait()

    init() throws {
        process = try AttachedProcess.start("calm")
        handle = ProcessHandle(process.processIdentifier)
    }

    /// How often this thread went to sleep meanwhile.
    private static func sleeps(in body: () -> Void) -> Int {
        func count() -> Int {
            var usage = rusage()
            // RUSAGE_THREAD, which the Glibc overlay lacks.
            getrusage(__rusage_who_t(1), &usage)
            return usage.ru_nvcsw
        }
        let before = count()
        body()
        return count() - before
    }

    @Test func `a wait for a process sleeps once until its deadline`() {
        defer { AttachedProcess.end(process) }
        let deadline = clb_now_ns() + Self.second / 2
        var isEnded = true
        let sleeps = Self.sleeps { isEnded = wait.wait(for: handle.descriptor, until: deadline) }
        // With a wait of 100 ms at a time there would be five; a busy machine may add one by a page fault.
        #expect(!isEnded && clb_now_ns() >= deadline && sleeps < 4, "\(sleeps)")
    }

    @Test(arguments: [true, false])
    func `a post ends one wait, also a later one`(hasDescriptor: Bool) {
        defer { AttachedProcess.end(process) }
        let wait = hasDescriptor ? wait : ExitWait(posts: -1)
        let deadline = clb_now_ns() + 3600 * Self.second
        for _ in 1...3 { wait.post() }
        #expect(wait.wait(for: handle.descriptor, until: deadline))
        #expect(!wait.wait(for: handle.descriptor, until: clb_now_ns()))
        // Its polls do not end the wait.
        let early = clb_now_ns() + 250_000_000
        #expect(!wait.wait(for: handle.descriptor, until: early) && clb_now_ns() >= early)
        Thread.detachNewThread {
            usleep(50_000)
            wait.post()
        }
        #expect(wait.wait(for: handle.descriptor, until: deadline))
    }

    @Test func `the exit of the process ends every wait`() {
        AttachedProcess.end(process)
        for _ in 1...2 { #expect(wait.wait(for: handle.descriptor, until: clb_now_ns() + 3600 * Self.second)) }
        #expect(!handle.isAlive)
    }
}
