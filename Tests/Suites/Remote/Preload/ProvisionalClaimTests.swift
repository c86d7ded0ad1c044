internal import CLagBeacon
internal import Foundation
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// Claims of which it is not known yet whether they are a loop's, and what a process may write in their place.
struct ProvisionalClaimTests {
    private let table: SharedLoopTable
    private let index: UInt32
    private let claim: UInt64

    init() throws {
        table = try SharedLoopTable.unshared()
        var claim: UInt64 = 0
        let index = clb_loop_table_claim_slot(table.raw, UInt32(CLB_LOOP_FROM_PRELOAD), getpid(), 0, clb_now_ns(), &claim)
        try #require(index >= 0)
        self.index = UInt32(index)
        clb_loop_table_slot_at(table.raw, self.index).pointee.tid = getpid()
        clb_loop_table_publish(table.raw, self.index, UInt32(CLB_SLOT_PROVISIONAL), &claim)
        self.claim = claim
    }

    private func change(to state: Int) { clb_loop_table_change(table.raw, index, claim, UInt32(state)) }

    private func remoteLoop() throws -> RemoteLoop {
        let owner = SharedLoopTable.Owner(startTicks: 0, stack: (0, 0), mapsTable: true)
        return RemoteLoop(try #require(table.loop(at: index)), owner, ProcessHandle(getpid()), in: table)
    }

    /// As any process can.
    private func write(_ claim: UInt64) { clb_loop_table_claim_word(table.raw, index).pointee = claim }

    @Test func `a provisional claim is watched and not confirmed`() throws {
        let loop = try #require(table.loop(at: index))
        #expect(loop.state == .provisional && loop.isPresent)
        #expect(try !remoteLoop().isConfirmed)
    }

    @Test func `its end is that of no loop`() throws {
        let remote = try remoteLoop()
        change(to: CLB_SLOT_ENDED)
        #expect(clb_claim_state(clb_loop_table_claim(table.raw, index)) == UInt32(CLB_SLOT_WITHDRAWN))
        #expect(table.loop(at: index)?.state == .ended && !remote.isConfirmed)
        // And for good.
        change(to: CLB_SLOT_LIVE)
        #expect(table.loop(at: index)?.state == .ended && !remote.isConfirmed)
    }

    @Test func `the end of a confirmed one is a loop's`() throws {
        let remote = try remoteLoop()
        change(to: CLB_SLOT_LIVE)
        change(to: CLB_SLOT_ENDED)
        #expect(clb_claim_state(clb_loop_table_claim(table.raw, index)) == UInt32(CLB_SLOT_ENDED) && remote.isConfirmed)
    }

    @Test func `what was confirmed once stays so whatever is written`() throws {
        let remote = try remoteLoop()
        change(to: CLB_SLOT_LIVE)
        #expect(remote.isConfirmed)
        for state in 0...255 as ClosedRange<UInt32> {
            write(clb_claim_with_state(claim, state))
            #expect(remote.isConfirmed)
        }
    }

    @Test func `nonsense and another claim confirm nothing`() throws {
        let remote = try remoteLoop()
        for state in 0...255 as ClosedRange<UInt32> {
            // Another generation, another process.
            write(clb_claim_with_state(claim &+ 1 << 40, state))
            #expect(!remote.isConfirmed)
            write(clb_claim_with_state(claim ^ 1, state))
            #expect(!remote.isConfirmed)
            guard !(UInt32(CLB_SLOT_LIVE)...UInt32(CLB_SLOT_UNWATCHED)).contains(state) else { continue }
            write(clb_claim_with_state(claim, state))
            #expect(!remote.isConfirmed)
        }
    }

    /// What is begun of this very process is freed: its own claims are nobody's.
    @Test(arguments: [true, false])
    func `a claim that may be no loops is begun once it is a moment old`(isProvisional: Bool) throws {
        let configuration = RemoteConfiguration(StallMonitorConfiguration())
        let watch = SharedLoopTableWatch(table: table, configuration: configuration, sink: MemorySink()) { Issue.record("\($0)") }
        if !isProvisional { change(to: CLB_SLOT_LIVE) }
        watch.scan()
        #expect((table.loop(at: index) != nil) == isProvisional && watch.slots.count == (isProvisional ? 1 : 0))
        usleep(UInt32(SharedLoopTableWatch.settleNanoseconds / 1000))
        watch.scan()
        #expect(table.loop(at: index) == nil && watch.settlingDeadline == .max)
    }

    @Test func `a claim that is gone is not waited for`() throws {
        let configuration = RemoteConfiguration(StallMonitorConfiguration())
        let watch = SharedLoopTableWatch(table: table, configuration: configuration, sink: MemorySink()) { Issue.record("\($0)") }
        watch.scan()
        change(to: CLB_SLOT_ENDED)
        watch.scan()
        #expect(table.loop(at: index) == nil && watch.slots.isEmpty)
    }
}
