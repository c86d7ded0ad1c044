internal import CLagBeacon
internal import CLagLinux
internal import Foundation
internal import Testing

/// A page of the test's own, as lagmond makes one.
final class SharedPage {
    let raw: UnsafeMutablePointer<clb_page>
    let descriptor: Int32

    init() throws {
        var made: UnsafeMutablePointer<clb_page>?
        var descriptor: Int32 = -1
        var start: UInt64 = 0
        try #require(cll_procfs_start_ticks(getpid(), &start) == 0)
        try #require(clb_page_create(start, &made, &descriptor) == 0)
        raw = try #require(made)
        self.descriptor = descriptor
    }

    deinit { clb_page_destroy(raw, descriptor) }

    var path: String { "/proc/\(getpid())/fd/\(descriptor)" }

    /// The loops that the page tells of: those that are there, and those that ended.
    var loops: [clb_page_loop] {
        (0..<UInt32(CLB_PAGE_SLOTS)).compactMap { index in
            var loop = clb_page_loop()
            return clb_page_read(raw, index, &loop) != 0 ? loop : nil
        }
    }

    var live: [clb_page_loop] { loops.filter { $0.state == UInt32(CLB_SLOT_LIVE) } }

    func index(of loop: clb_page_loop) -> UInt32 {
        (0..<UInt32(CLB_PAGE_SLOTS)).first { clb_page_claim(raw, $0) == loop.claim } ?? UInt32.max
    }

    /// What the loop does; its sequence.
    func activity(of loop: clb_page_loop) -> Int32 { Int32(clb_beacon_word(beacon(of: loop)) & 0xff) }
    func sequence(of loop: clb_page_loop) -> UInt64 { clb_beacon_word(beacon(of: loop)) >> 8 }
    func beacon(of loop: clb_page_loop) -> UnsafeMutablePointer<clb_beacon> { clb_page_beacon(raw, index(of: loop)) }
}

extension clb_page_loop {
    var isLive: Bool { state == UInt32(CLB_SLOT_LIVE) }
    var isEnded: Bool { state == UInt32(CLB_SLOT_ENDED) }
}
