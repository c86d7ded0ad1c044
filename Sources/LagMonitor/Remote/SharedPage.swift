internal import CLibunwind
internal import Glibc
internal import LagActivity

/// The page in which the loops of other processes tell what they do (clu_page.h).
///
/// Any thread reads; everything in it is what other processes claim, and is checked against what the kernel says of them.
// Unchecked: the pointer and the descriptor are immutable, and what the pointer leads to is touched by atomic operations and by copies.
package final class SharedPage: @unchecked Sendable {
    let raw: UnsafeMutablePointer<clu_page>
    private let descriptor: Int32

    /// What a process's environment needs in order to write into the page.
    package let variable: (name: String, value: String)

    /// Takes 5 ms.
    /// - Throws: ``LagMonitorError/resources(reason:)``.
    package init() throws(LagMonitorError) {
        var page: UnsafeMutablePointer<clu_page>?
        var descriptor: Int32 = -1
        let error = clu_page_create(&page, &descriptor)
        guard error == 0, let page else { throw .resources(reason: "no shared memory: \(String(cString: strerror(error)))") }
        raw = page
        self.descriptor = descriptor
        var path = [CChar](repeating: 0, count: Int(CLU_PAGE_PATH_MAX))
        clu_page_path(descriptor, &path)
        variable = (CLU_PAGE_VARIABLE, String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }

    deinit { clu_page_destroy(raw, descriptor) }

    /// A loop that is, or was, there.
    struct Loop {
        let index: UInt32
        let claim: UInt64
        let isOver: Bool
        let process: Int32
        let thread: Int32
        let claimedNanoseconds: UInt64
        let waitStackPointer: UInt64
        let name: String
    }

    func loop(at index: UInt32) -> Loop? {
        var found = clu_page_loop()
        guard clu_page_read(raw, index, &found) != 0 else { return nil }
        let name = withUnsafeBytes(of: found.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return Loop(
            index: index,
            claim: found.claim,
            isOver: found.state == UInt32(CLU_SLOT_ENDED),
            process: found.pid,
            thread: found.tid,
            claimedNanoseconds: found.claimed_ns,
            waitStackPointer: found.wait_sp,
            name: name
        )
    }

    /// The place can be another loop's from now on.
    func free(_ loop: Loop) { _ = clu_page_free(raw, loop.index, loop.claim) }

    /// What the kernel says of a loop's process.
    struct Owner {
        let startTicks: UInt64
        let stack: (low: UInt64, high: UInt64)
        /// Whether it has this page mapped: who has not, did not write what it says.
        let mapsPage: Bool
    }

    /// - Returns: nil where the process is gone or not ours to look at.
    func owner(of process: Int32, stackPointer: UInt64) -> Owner? {
        var owner = clu_page_owner()
        guard clu_page_process(descriptor, process, stackPointer, &owner) == 0 else { return nil }
        return Owner(startTicks: owner.start_ticks, stack: (owner.stack_low, owner.stack_high), mapsPage: owner.maps_page != 0)
    }

    /// Waits until a loop has something to tell, or until then (`CLOCK_MONOTONIC`).
    func wait(until deadline: UInt64) { _ = clu_waker_wait(clu_page_waker(raw), deadline) }

    /// When the first beacon of those that answered since the last call did so; 0: none.
    func drain() -> UInt64 { clu_page_drain(raw) }

    /// Ends a wait. Any thread.
    func wake() { clu_waker_post(clu_page_waker(raw)) }
}
