internal import CLibunwind
internal import Foundation
internal import Testing

/// A page of the test's own, as lagmond makes one.
final class SharedPage {
    let raw: UnsafeMutablePointer<clu_page>
    let descriptor: Int32

    init() throws {
        var made: UnsafeMutablePointer<clu_page>?
        var descriptor: Int32 = -1
        try #require(clu_page_create(&made, &descriptor) == 0)
        raw = try #require(made)
        self.descriptor = descriptor
    }

    deinit { clu_page_destroy(raw, descriptor) }

    var path: String { "/proc/\(getpid())/fd/\(descriptor)" }

    /// The loops that the page tells of: those that are there, and those that ended.
    var loops: [clu_page_loop] {
        (0..<UInt32(CLU_PAGE_SLOTS)).compactMap { index in
            var loop = clu_page_loop()
            return clu_page_read(raw, index, &loop) != 0 ? loop : nil
        }
    }

    var live: [clu_page_loop] { loops.filter { $0.state == UInt32(CLU_SLOT_LIVE) } }

    func index(of loop: clu_page_loop) -> UInt32 {
        (0..<UInt32(CLU_PAGE_SLOTS)).first { clu_page_claim(raw, $0) == loop.claim } ?? UInt32.max
    }

    /// What the loop does; its sequence.
    func activity(of loop: clu_page_loop) -> Int32 { Int32(clu_beacon_word(beacon(of: loop)) & 0xff) }
    func sequence(of loop: clu_page_loop) -> UInt64 { clu_beacon_word(beacon(of: loop)) >> 8 }
    func beacon(of loop: clu_page_loop) -> UnsafeMutablePointer<clu_beacon> { clu_page_beacon(raw, index(of: loop)) }
}

extension clu_page_loop {
    var isLive: Bool { state == UInt32(CLU_SLOT_LIVE) }
    var isEnded: Bool { state == UInt32(CLU_SLOT_ENDED) }
}
