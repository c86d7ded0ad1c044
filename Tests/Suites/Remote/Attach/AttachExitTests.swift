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

    @Test(.enabled(if: knowsExits, "needs Linux 6.15"))
    func `what a process does between its last wait and its regular exit is not reported`() throws {
        let process = try AttachedProcess("exit")
        defer { process.end() }
        process.waitUntilWatched()
        kill(process.pid, SIGUSR1)
        #expect(eventually { process.watch.isOver })
        let lines = withoutRunqueue(process.sink.lines)
        #expect(lines.isEmpty && process.watch.statistics.dismissed == 1, "\(lines)")
    }
}
