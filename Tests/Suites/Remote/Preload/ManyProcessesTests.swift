internal import CLagBeacon
internal import Glibc
internal import Synchronization
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// The cost for the watcher of processes that come and go, or pretend to.
struct ManyProcessesTests {
    @Test func `endless claims cause a bounded number of messages`() throws {
        let messages = Messages()
        var configuration = StallMonitorConfiguration()
        configuration.rules = StallRules()
        let watch = SharedLoopTableWatch(
            table: try SharedLoopTable(),
            configuration: RemoteConfiguration(configuration),
            sink: MemorySink()
        ) { message in
            messages.all.withLock { $0.append(message) }
        }
        for number in UInt64(1)...5000 {
            let loop = SharedLoopTable.Loop(
                index: UInt32(number % 256),
                claim: number << 40,
                state: .live,
                isWithdrawn: false,
                isFromMonitor: false,
                thread: .init(process: Int32(number), thread: Int32(number)),
                claimedNanoseconds: 0,
                stackPointer: 0,
                name: "",
                modes: []
            )
            watch.refuse(loop, "a reason")
            // The same claim again causes no message.
            watch.refuse(loop, "a reason")
        }
        let all = messages.all.withLock { $0 }
        #expect(all.count < 30 && all.first == "cannot watch process 1: a reason")
        #expect(all.last == "more processes that cannot be watched, not listed")
        #expect(Set(all).count == all.count)
    }

    @Test func `a process without remaining loops is dropped after a while`() throws {
        let remote = try RemoteProcess(["signals"])
        defer { remote.end() }
        #expect(remote.nextLine() == "ready")
        for _ in 0..<2 {
            var (index, claim) = try remote.table.claimSlot(for: remote.pid, as: Int(CLB_LOOP_FROM_MONITOR))
            remote.table.publish(&claim, at: index, of: remote.pid)
            #expect(eventually { remote.watch.watchedProcesses.map(\.pid) == [remote.pid] })
            clb_loop_table_end(remote.table.raw, index, claim)
            #expect(eventually { remote.watch.watchedProcesses.first?.loops.isEmpty ?? true })
            #expect(remote.watch.watchedProcesses.count == 1, "it may get another loop soon")
            #expect(eventually { remote.watch.watchedProcesses.isEmpty })
        }
    }
}

private final class Messages: Sendable { let all = Mutex<[String]>([]) }
