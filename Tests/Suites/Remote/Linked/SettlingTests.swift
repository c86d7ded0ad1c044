internal import CLagBeacon
internal import Foundation
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// When claims that may be no loop's are looked at again.
struct SettlingTests {
    /// The watch's thread is not started: this one scans.
    @Test func `a provisional claim that is not selected is waited for once`() throws {
        let table = try SharedLoopTable()
        let watch = SharedLoopTableWatch(
            table: table,
            configuration: RemoteConfiguration(
                StallMonitorConfiguration(),
                selection: LoopSelection(processes: ["none has this name"])
            ),
            sink: MemorySink()
        ) { Issue.record("\($0)") }
        // This process itself is never watched.
        let process = getppid()
        var claim: UInt64 = 0
        let index = clb_loop_table_claim_slot(table.raw, UInt32(CLB_LOOP_FROM_PRELOAD), process, 0, clb_now_ns(), &claim)
        let place = UInt32(try #require(index >= 0 ? index : nil))
        clb_loop_table_slot_at(table.raw, place).pointee.tid = process
        clb_loop_table_publish(table.raw, place, UInt32(CLB_SLOT_PROVISIONAL), &claim)
        watch.scan()
        let deadline = watch.settlingDeadline
        #expect(deadline != .max && watch.slots.values.allSatisfy { $0.unselected == nil })
        while clb_now_ns() < deadline { usleep(1000) }
        // As the thread does it: what is not selected is asked for anew each second.
        for round in 1...4 {
            if round == 3 { watch.forgetSelection() }
            watch.scan()
            #expect(watch.settlingDeadline == .max && watch.slots[place]?.unselected != nil)
        }
        // What is gone is forgotten.
        _ = clb_loop_table_free(table.raw, place, claim)
        watch.scan()
        #expect(watch.slots.isEmpty)
    }
}
