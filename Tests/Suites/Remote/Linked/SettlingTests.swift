internal import CLagBeacon
internal import CLagRemote
internal import Foundation
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// When provisional claims are checked again.
struct SettlingTests {
    /// The watch's thread is not started: this thread scans.
    @Test func `an unselected provisional claim causes only one wait`() throws {
        let table = try SharedLoopTable()
        let watch = SharedLoopTableWatch(
            table: table,
            configuration: RemoteConfiguration(
                StallMonitorConfiguration(),
                selection: LoopSelection(processes: ["none has this name"])
            ),
            sink: MemorySink()
        ) { Issue.record("\($0)") }
        // The test process itself is never watched.
        let process = getppid()
        var (place, claim) = try table.claimSlot(for: process)
        table.publish(&claim, at: place, of: process, as: Int(CLB_SLOT_PROVISIONAL))
        watch.scan()
        let deadline = watch.settlingDeadline
        #expect(deadline != .max && watch.slots.values.allSatisfy { $0.unselected == nil })
        #expect(eventually { clb_now_ns() >= deadline })
        // As the watch's thread does: unselected claims are checked again each second.
        for round in 1...4 {
            if round == 3 { watch.forgetSelection() }
            watch.scan()
            #expect(watch.settlingDeadline == .max && watch.slots[place]?.unselected != nil)
        }
        // A freed claim is forgotten.
        _ = clr_loop_table_free(table.raw, place, claim)
        watch.scan()
        #expect(watch.slots.isEmpty)
    }
}
