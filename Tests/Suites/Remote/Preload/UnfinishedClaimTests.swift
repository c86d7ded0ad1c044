internal import CLagBeacon
internal import Foundation
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// Slots whose process died between claiming and publishing, or wrote invalid data.
struct UnfinishedClaimTests {
    private let table: SharedLoopTable
    private let watch: SharedLoopTableWatch

    /// The watch's thread is not started: this thread checks.
    init() throws {
        table = try SharedLoopTable()
        watch = SharedLoopTableWatch(
            table: table,
            configuration: RemoteConfiguration(StallMonitorConfiguration()),
            sink: MemorySink()
        ) { Issue.record("\($0)") }
    }

    private func isFree(_ index: UInt32) -> Bool {
        clb_claim_state(clb_loop_table_claim(table.raw, index)) == UInt32(CLB_SLOT_FREE)
    }

    @Test func `unpublished claims of a dead process are freed at the second check`() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/true")
        try process.run()
        process.waitUntilExit()
        let living = try SleepingProcess()
        defer { living.end() }
        // All slots.
        let claims = try (0..<SharedLoopTable.slotCount).map {
            try table.claimSlot(for: $0 == 0 ? living.pid : process.processIdentifier)
        }
        #expect(table.unfinishedClaims.count == SharedLoopTable.slotCount)
        watch.freeUnfinishedClaims()
        #expect(!claims.contains { isFree($0.index) })
        watch.freeUnfinishedClaims()
        #expect(claims.allSatisfy { isFree($0.index) } && table.unfinishedClaims.isEmpty)
    }

    @Test func `a slot that is claimed again in between needs two new checks`() throws {
        let living = try SleepingProcess()
        defer { living.end() }
        let first = try table.claimSlot(for: living.pid)
        watch.freeUnfinishedClaims()
        table.free(first.claim, at: first.index)
        let second = try table.claimSlot(for: living.pid)
        #expect(second.index == first.index && second.claim != first.claim)
        watch.freeUnfinishedClaims()
        #expect(!isFree(second.index))
    }

    @Test func `a process that maps the table may publish its claim late`() throws {
        let remote = try RemoteProcess(["signals"])
        defer { remote.end() }
        #expect(remote.nextLine() == "ready")
        var (index, claim) = try remote.table.claimSlot(for: remote.pid)
        // Its thread checks once a second.
        sleep(3)
        #expect(remote.table.unfinishedClaims[index] == claim)
        remote.table.publish(&claim, at: index, of: remote.pid)
        #expect(remote.table.loop(at: index)?.process == remote.pid)
    }
}
