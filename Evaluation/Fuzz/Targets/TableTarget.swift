internal import CLagBeacon
internal import CLagRemote
internal import Glibc

/// The shared loop table with arbitrary content.
final class TableTarget: FuzzTarget {
    static let name = "table"
    private let table: UnsafeMutablePointer<clb_loop_table>
    let seeds: [[UInt8]]

    init(_ surroundings: FuzzSurroundings) throws {
        var table: UnsafeMutablePointer<clb_loop_table>?
        guard clr_loop_table_create_unshared(&table) == 0, let table else { throw FuzzError("no memory") }
        self.table = table
        var claim: UInt64 = 0
        for _ in 0..<4 {
            let index = clb_loop_table_claim_slot(table, 1, getpid(), 0, clb_now_ns(), &claim)
            if index >= 0 { clb_loop_table_publish(table, UInt32(index), UInt32(CLB_SLOT_LIVE), &claim) }
        }
        // The header, the claims and the first slots.
        seeds = [Array(UnsafeRawBufferPointer(start: table, count: min(clb_loop_table_bytes(), 1 << 16)))]
    }

    func read(_ input: [UInt8]) {
        let count = min(input.count, clb_loop_table_bytes())
        input.withUnsafeBytes { if let base = $0.baseAddress { memcpy(table, base, count) } }
        let waker = clb_loop_table_waker(table)
        clb_waker_post_shared(waker)
        _ = clb_waker_wait_shared(waker, clb_now_ns() + 1000)
        _ = clb_waker_drain(clb_loop_table_waker(table))
        clr_loop_table_check_clock(table)
        for index in 0..<UInt32(CLB_LOOP_TABLE_SLOTS) {
            var loop = clr_loop_table_entry()
            _ = clr_loop_table_read(table, index, &loop)
            var (sp, object): (UInt64, Int32) = (0, 0)
            clr_loop_table_wait_place(table, index, &sp, &object)
            if index % 64 == 0 { _ = clr_loop_table_free(table, index, clb_loop_table_claim(table, index)) }
        }
    }
}
