internal import CLagBeacon
internal import Testing

@testable internal import LagRemote

extension SharedLoopTable {
    /// A slot that a thread of a process has claimed, as the preloaded library or a monitor does it, and not published yet.
    func claimSlot(for process: Int32, as kind: Int = Int(CLB_LOOP_FROM_PRELOAD)) throws -> (index: UInt32, claim: UInt64) {
        var claim: UInt64 = 0
        let index = clb_loop_table_claim_slot(raw, UInt32(kind), process, 0, clb_now_ns(), &claim)
        return (try #require(UInt32(exactly: index)), claim)
    }

    /// A loop is there from now on: its thread is the process's first.
    func publish(_ claim: inout UInt64, at index: UInt32, of process: Int32, as state: Int = Int(CLB_SLOT_LIVE)) {
        clb_loop_table_slot_at(raw, index).pointee.tid = process
        clb_loop_table_publish(raw, index, UInt32(state), &claim)
    }
}
