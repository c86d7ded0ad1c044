internal import Foundation
internal import LagMonitor
internal import LagRemote
internal import TestSupport
internal import Testing

@testable internal import lagmond

struct AttachedStatusTests {
    @Test func `the status of an attached process says why it has no loop`() throws {
        let sleeper = try SleepingProcess()
        defer { sleeper.end() }
        let attached = try AttachedProcess(
            sleeper.pid,
            configuration: RemoteConfiguration(StallMonitorConfiguration()),
            sink: MemorySink(),
            lines: LineDispatcher(live: nil, target: nil)
        )
        try attached.start()
        defer { attached.watch.stop() }
        #expect(eventually { attached.status.phase == "running" } && attached.status.silent.isEmpty)
        #expect(eventually { !attached.status.silent.isEmpty })
        let silent = attached.status.silent
        #expect(silent.count == 1 && silent[0].pid == sleeper.pid && silent[0].name == "sleep")
        #expect(silent[0].reason.hasPrefix("no thread was seen to rest in epoll_wait, poll or select yet"), "\(silent)")
    }
}
