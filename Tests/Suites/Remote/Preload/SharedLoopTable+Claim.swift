internal import CLagBeacon
internal import Testing

@testable internal import LagRemote

extension SharedLoopTable {
    /// Claims a slot for a process as the preloaded library or a monitor does, without publishing it.
    func claimSlot(for process: Int32, as kind: Int = Int(CLB_LOOP_FROM_PRELOAD)) throws -> (index: UInt32, claim: UInt64) {
        var claim: UInt64 = 0
        let index = clb_loop_table_claim_slot(raw, UInt32(kind), process, 0, clb_now_ns(), &claim)
        return (try #require(UInt32(exactly: index)), claim)
    }

    /// Publishes a loop on the process's first thread.
    func publish(_ claim: inout UInt64, at index: UInt32, of process: Int32, as state: Int = Int(CLB_SLOT_LIVE)) {
        clb_loop_table_slot_at(raw, index).pointee.tid = process
        clb_loop_table_publish(raw, index, UInt32(state), &claim)
    }
}
