internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A process that executes another program keeps its ID and its start time.
struct ExecTests {
    @Test func `records after exec name the new program`() throws {
        let remote = try RemoteProcess(["epoll", "exec"])
        defer { remote.end() }
        #expect(eventually { remote.watch.watchedProcesses.map(\.name) == ["ForeignProbe"] })
        // It executes /proc/self/exe, and is named after the last part of that path.
        let line = try remote.line("end")
        #expect(line["process_name"] as? String == "exe")
        #expect(remote.watch.watchedProcesses.map(\.name) == ["exe"])
    }
}
