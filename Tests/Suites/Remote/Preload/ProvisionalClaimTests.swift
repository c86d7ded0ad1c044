internal import CLagBeacon
internal import Foundation
internal import LagActivity
internal import Synchronization
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// Claims that are not yet known to be loops, and what a process may write in their place.
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

    /// Any process can do this.
    private func write(_ claim: UInt64) { clb_loop_table_claim_word(table.raw, index).pointee = claim }

    @Test func `a provisional claim is watched but not confirmed`() throws {
        let loop = try #require(table.loop(at: index))
        #expect(loop.state == .provisional && loop.isPresent)
        #expect(try !remoteLoop().isConfirmed)
    }

    @Test func `a provisional claim that ends is withdrawn and stays unconfirmed`() throws {
        let remote = try remoteLoop()
        change(to: CLB_SLOT_ENDED)
        #expect(clb_claim_state(clb_loop_table_claim(table.raw, index)) == UInt32(CLB_SLOT_WITHDRAWN))
        #expect(table.loop(at: index)?.state == .ended && !remote.isConfirmed)
        // This is final.
        change(to: CLB_SLOT_LIVE)
        #expect(table.loop(at: index)?.state == .ended && !remote.isConfirmed)
    }

    @Test func `a confirmed claim that ends stays confirmed as a loop`() throws {
        let remote = try remoteLoop()
        change(to: CLB_SLOT_LIVE)
        change(to: CLB_SLOT_ENDED)
        #expect(clb_claim_state(clb_loop_table_claim(table.raw, index)) == UInt32(CLB_SLOT_ENDED) && remote.isConfirmed)
    }

    @Test func `a confirmed claim stays confirmed whatever state is written to its slot`() throws {
        let remote = try remoteLoop()
        change(to: CLB_SLOT_LIVE)
        #expect(remote.isConfirmed)
        for state in 0...255 as ClosedRange<UInt32> {
            write(clb_claim_with_state(claim, state))
            #expect(remote.isConfirmed)
        }
    }

    @Test func `invalid states and other claims do not confirm a claim`() throws {
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

    /// The watch frees claims of its own process when it begins to watch them: they are invalid.
    @Test(arguments: [true, false])
    func `watching a provisional claim begins after a short delay`(isProvisional: Bool) throws {
        let configuration = RemoteConfiguration(StallMonitorConfiguration())
        let watch = SharedLoopTableWatch(table: table, configuration: configuration, sink: MemorySink()) { Issue.record("\($0)") }
        if !isProvisional { change(to: CLB_SLOT_LIVE) }
        watch.scan()
        #expect((table.loop(at: index) != nil) == isProvisional && watch.slots.count == (isProvisional ? 1 : 0))
        usleep(UInt32(SharedLoopTableWatch.settleNanoseconds / 1000))
        watch.scan()
        #expect(table.loop(at: index) == nil && watch.settlingDeadline == .max)
    }

    @Test func `a doubt is only about the latest stretch of work`() throws {
        let remote = try remoteLoop()
        let beacon = try #require(clb_loop_table_beacon(table.raw, index))
        func doubted() -> [Bool] { [999, 1000, 1999, 2000, .max].map { remote.isDoubtful(at: $0) } }
        clb_beacon_wake_shared(beacon, LoopActivity.afterWaiting.rawValue, 1000)
        #expect(doubted() == [false, false, false, false, false])
        remote.doubtful.store(clb_beacon_word(beacon), ordering: .relaxed)
        #expect(doubted() == [false, true, true, true, true])
        // The loop ended without another wait: the stretch is the same.
        clb_beacon_publish_shared(beacon, LoopActivity.finished.rawValue)
        #expect(doubted() == [false, true, true, true, true])
        clb_beacon_wake_shared(beacon, LoopActivity.afterWaiting.rawValue, 2000)
        #expect(doubted() == [false, false, false, false, false])
        // The next one is in doubt: the one before is not.
        remote.doubtful.store(clb_beacon_word(beacon), ordering: .relaxed)
        #expect(doubted() == [false, false, false, true, true])
    }

    /// As if a read of the process's memory by the loop's watchdog did not return.
    @Test func `a loop whose examination does not end holds up no other thread`() throws {
        clb_loop_table_slot_at(table.raw, index).pointee.wait_object = 1
        let remote = try remoteLoop()
        #expect(table.waitPlace(at: index).epoll == 0)
        #expect(remote.proof(at: clb_now_ns()) != nil)
        let (held, released, answered) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
            remote.examiner.state.withLock { _ in
                held.signal()
                released.wait()
            }
        }
        held.wait()
        Thread.detachNewThread { if remote.proof(at: clb_now_ns()) == nil { answered.signal() } }
        #expect(answered.wait(timeout: .now() + 20) == .success)
        released.signal()
    }

    @Test func `a provisional claim that ended is not waited for`() throws {
        let configuration = RemoteConfiguration(StallMonitorConfiguration())
        let watch = SharedLoopTableWatch(table: table, configuration: configuration, sink: MemorySink()) { Issue.record("\($0)") }
        watch.scan()
        change(to: CLB_SLOT_ENDED)
        watch.scan()
        #expect(table.loop(at: index) == nil && watch.slots.isEmpty)
    }
}
