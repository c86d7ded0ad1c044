internal import CLagBeacon
internal import CLagLinux
internal import CLagRemote
internal import Foundation
internal import Testing

/// A table of the test, created as lagmond creates its table.
final class TestLoopTable {
    let raw: UnsafeMutablePointer<clb_loop_table>
    let descriptor: Int32

    init() throws {
        var made: UnsafeMutablePointer<clb_loop_table>?
        var descriptor: Int32 = -1
        var start: UInt64 = 0
        try #require(cll_procfs_start_ticks(getpid(), &start) == 0)
        try #require(clr_loop_table_create(start, &made, &descriptor) == 0)
        raw = try #require(made)
        self.descriptor = descriptor
    }

    deinit { clr_loop_table_destroy(raw, descriptor) }

    var path: String { "/proc/\(getpid())/fd/\(descriptor)" }

    /// The loops in the table, both present and ended.
    var loops: [clr_loop_table_entry] {
        (0..<UInt32(CLB_LOOP_TABLE_SLOTS)).compactMap { index in
            var loop = clr_loop_table_entry()
            return clr_loop_table_read(raw, index, &loop) != 0 ? loop : nil
        }
    }

    var live: [clr_loop_table_entry] { loops.filter { $0.state == UInt32(CLB_SLOT_LIVE) } }

    var provisional: [clr_loop_table_entry] { loops.filter { $0.state == UInt32(CLB_SLOT_PROVISIONAL) } }

    func index(of loop: clr_loop_table_entry) -> UInt32 {
        (0..<UInt32(CLB_LOOP_TABLE_SLOTS)).first { clb_loop_table_claim(raw, $0) == loop.claim } ?? UInt32.max
    }

    /// The loop's activity, and its sequence number.
    func activity(of loop: clr_loop_table_entry) -> Int32 { Int32(clb_beacon_word(beacon(of: loop)) & 0xff) }
    func sequence(of loop: clr_loop_table_entry) -> UInt64 { clb_beacon_word(beacon(of: loop)) >> 8 }
    func beacon(of loop: clr_loop_table_entry) -> UnsafeMutablePointer<clb_beacon> { clb_loop_table_beacon(raw, index(of: loop)) }
}

extension clr_loop_table_entry {
    var isLive: Bool { state == UInt32(CLB_SLOT_LIVE) }
    var isWithdrawn: Bool { state == UInt32(CLB_SLOT_WITHDRAWN) }
    var isEnded: Bool { state == UInt32(CLB_SLOT_ENDED) }
}
