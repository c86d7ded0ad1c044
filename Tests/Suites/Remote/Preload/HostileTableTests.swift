internal import CLagBeacon
internal import CLagRemote
internal import Dispatch
internal import Synchronization
internal import TestSupport
internal import Testing

/// The shared table while another process writes arbitrary data into it. First of all, the test's process must not crash.
struct HostileTableTests {
    /// Everything that lagmond and the watched programs do with the waker.
    private func use(_ table: UnsafeMutablePointer<clb_loop_table>) {
        let waker = clb_loop_table_waker(table)
        clb_waker_post_shared(waker)
        _ = clb_waker_wait_shared(waker, clb_now_ns() + 1_000_000)
        _ = clb_waker_drain(clb_loop_table_waker(table))
        _ = clb_waker_wait_shared(waker, clb_now_ns() + 1_000_000)
    }

    @Test(arguments: [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] as [UInt32])
    func `arbitrary waker contents neither crash the process nor prevent wakeups`(word: UInt32) throws {
        let table = try TestLoopTable()
        let waker = clb_loop_table_waker(table.raw)!
        let words = UnsafeMutableRawPointer(waker).assumingMemoryBound(to: UInt32.self)
        for place in 0..<(MemoryLayout<clb_waker>.size / 4) {
            words[place] = word
            use(table.raw)
        }
        // A regular post still wakes the waiter.
        _ = clb_waker_drain(clb_loop_table_waker(table.raw))
        clb_waker_post_shared(waker)
        #expect(clb_waker_wait_shared(waker, clb_now_ns() + 5_000_000_000) == 1)
    }

    @Test func `random writes to the whole table do no harm`() throws {
        let table = try TestLoopTable()
        let raw = UInt(bitPattern: table.raw)
        let count = clb_loop_table_bytes() / 8
        let isDone = SharedFlag()
        var generator = SeededGenerator(seed: 20_261_122)
        let seed = generator.next()
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) {
            var hostile = SeededGenerator(seed: seed)
            let words = UnsafeMutablePointer<UInt64>(bitPattern: raw)!
            while !isDone.isSet {
                // Half of the writes go into the header, which contains the waker.
                let place = Int(hostile.next() % UInt64(hostile.next() & 1 == 0 ? 32 : count))
                words[place] = hostile.next() & 3 == 0 ? hostile.next() : hostile.next() % 64
            }
        }
        let end = clb_now_ns() + 400_000_000
        while clb_now_ns() < end {
            use(table.raw)
            for index in 0..<UInt32(CLB_LOOP_TABLE_SLOTS) {
                var loop = clr_loop_table_entry()
                // Each entry read is consistent, whatever its content.
                if clr_loop_table_read(table.raw, index, &loop) != 0 { #expect(loop.pid > 0 && loop.tid > 0) }
                _ = clr_loop_table_free(table.raw, index, generator.next())
            }
            clr_loop_table_check_clock(table.raw)
        }
        isDone.set()
        group.wait()
        _ = clb_waker_drain(clb_loop_table_waker(table.raw))
        clb_waker_post_shared(clb_loop_table_waker(table.raw))
        #expect(clb_waker_wait_shared(clb_loop_table_waker(table.raw), clb_now_ns() + 5_000_000_000) == 1)
    }
}

private final class SharedFlag: Sendable {
    private let value = Atomic<Bool>(false)

    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
}
