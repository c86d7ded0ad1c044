internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// What becomes another program keeps its number and its start.
struct ExecTests {
    @Test func `records after an exec name the program that runs`() throws {
        let remote = try RemoteProcess(["epoll", "exec"])
        defer { remote.end() }
        #expect(eventually { remote.watch.watchedProcesses.map(\.name) == ["ForeignProbe"] })
        // It executes /proc/self/exe, and is called by the last part of that.
        let line = try remote.line("end")
        #expect(line["process_name"] as? String == "exe")
        #expect(remote.watch.watchedProcesses.map(\.name) == ["exe"])
    }
}
