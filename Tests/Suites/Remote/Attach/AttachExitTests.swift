internal import Foundation
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

@Suite struct AttachExitTests {
    /// The child is waited for at once; before this version, how it ended is not known then.
    private static let knowsExits: Bool = {
        let version = ProcessInfo.processInfo.operatingSystemVersion
        return (version.majorVersion, version.minorVersion) >= (6, 15)
    }()

    @Test(.enabled(if: knowsExits, "needs Linux 6.15"), arguments: ["exit", "close", "end"])
    func `what a process does between its last wait and its regular end is not reported`(handler: String) throws {
        // Of a stall that was not seen there is nothing to dismiss.
        for _ in Attempts("a stall before the end, \(handler)") {
            let process = try AttachedProcess(handler)
            defer { process.end() }
            process.waitUntilWatched()
            kill(process.pid, handler == "end" ? SIGTERM : SIGUSR1)
            #expect(eventually { process.watch.isOver })
            let lines = withoutRunqueue(process.sink.lines)
            #expect(lines.isEmpty, "\(lines)")
            if process.watch.statistics.dismissed == 1 { return }
        }
        Issue.record("no stall was dismissed")
    }

    @Test func `the last stall of a loop that its program replaces is reported`() throws {
        let process = try AttachedProcess("go-on")
        defer { process.end() }
        process.waitUntilWatched()
        kill(process.pid, SIGUSR1)
        let duration = try #require(process.ended(1).first?["duration_ms"] as? Double)
        #expect(duration > 390 && process.watch.statistics.dismissed == 0, "\(duration)")
    }
}
