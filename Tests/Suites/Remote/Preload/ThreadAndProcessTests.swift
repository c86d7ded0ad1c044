internal import CLagBeacon
internal import CLagRemote
internal import Foundation
internal import TestSupport
internal import Testing

@Suite("Threads and processes with the preloaded library")
struct ThreadAndProcessTests {
    @Test func `each thread that loops has its own slot`() throws {
        let probe = try WatchedProbe("threads")
        let words = [try probe.word("looped"), try probe.word("looped")]
        #expect(Set(probe.table.live.map(\.tid)) == Set(words.map(\.tid)))
        #expect(probe.table.live.allSatisfy { $0.pid == words[0].pid && $0.tid != $0.pid })
        try probe.expectEnd()
        #expect(probe.table.loops.count == 2 && probe.table.loops.allSatisfy(\.isEnded))
    }

    @Test func `the exit of a thread ends its loop, and later waits do no harm`() throws {
        let probe = try WatchedProbe("thread-end")
        let word = try probe.word("looped")
        #expect(probe.table.live.map(\.tid) == [word.tid])
        try probe.next("joined")
        let loop = try #require(probe.table.loops.first)
        #expect(probe.table.loops.count == 1 && loop.isEnded)
        #expect(probe.table.activity(of: loop) == CLB_ACTIVITY_FINISHED)
        try probe.expectEnd()
    }

    @Test func `a thread that is cancelled in its wait ends its loop`() throws {
        let probe = try WatchedProbe("cancel")
        try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        #expect(eventually { probe.table.activity(of: loop) == CLB_ACTIVITY_WAITING })
        try probe.next("joined")
        #expect(probe.table.loops.map(\.isEnded) == [true])
        try probe.expectEnd()
    }

    @Test func `loops that find no free slot are counted and continue`() throws {
        let probe = try WatchedProbe("many-threads")
        try probe.word("joined")
        #expect(probe.table.loops.count == Int(CLB_LOOP_TABLE_SLOTS) && probe.table.loops.allSatisfy(\.isEnded))
        #expect(probe.table.raw.pointee.refused == 450 - UInt64(CLB_LOOP_TABLE_SLOTS))
        try probe.expectEnd()
    }

    @Test func `a forked child starts without loops and does not change the loop of its parent`() throws {
        let probe = try WatchedProbe("fork")
        let parent = try probe.word("parent")
        let loop = try #require(probe.table.live.first)
        let word = clb_beacon_word(probe.table.beacon(of: loop))
        let child = try probe.next("child")
        #expect(child.pid != parent.pid)
        // Seven waits of a process that has no loop yet.
        #expect(probe.table.live.count == 1 && clb_beacon_word(probe.table.beacon(of: loop)) == word)
        #expect(probe.table.provisional.map(\.pid) == [child.pid])
        try probe.next("child")
        #expect(Set(probe.table.live.map(\.pid)) == [parent.pid, child.pid])
        #expect(clb_beacon_word(probe.table.beacon(of: loop)) == word)
        try probe.expectEnd()
        // The parent's exit ended its loop.
        #expect(probe.table.loops.filter { $0.pid == parent.pid }.map(\.isEnded) == [true])
    }

    @Test func `a fork during a wait is noticed when the wait ends`() throws {
        let probe = try WatchedProbe("handler")
        let word = try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        // Twelve waits and the one with the fork, but none of the child's waits.
        #expect(probe.table.live.count == 1 && loop.pid == word.pid)
        #expect(probe.table.sequence(of: loop) == 27)
        try probe.expectEnd()
    }

    @Test func `exec ends the loop of the previous program`() throws {
        let probe = try WatchedProbe("exec")
        let before = try probe.word("looped")
        #expect(probe.table.live.map(\.pid) == [before.pid])
        let after = try probe.next("thrice")
        #expect(after.pid == before.pid && probe.table.live.isEmpty && probe.table.loops.first?.isEnded == true)
        try probe.expectEnd()
    }

    @Test func `child processes created by vfork or spawn leave no entries`() throws {
        let probe = try WatchedProbe("spawn")
        let word = try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        #expect(probe.table.live.count == 1 && loop.pid == word.pid)
        // Its own twelve waits, and fifteen more.
        #expect(probe.table.sequence(of: loop) == 55)
        try probe.expectEnd()
    }

    @Test func `an armed loop wakes the watcher`() throws {
        let probe = try WatchedProbe("seven")
        try probe.word("looped")
        _ = clb_waker_drain(clb_loop_table_waker(probe.table.raw))
        try probe.next("looped")
        // The new loop woke the watcher itself.
        #expect(clb_waker_wait_shared(clb_loop_table_waker(probe.table.raw), clb_now_ns() + 5_000_000_000) == 1)
        let loop = try #require(probe.table.live.first)
        clb_beacon_rearm(probe.table.beacon(of: loop), UInt32(CLB_ARMED_ANY))
        // An address written there by another process is never dereferenced.
        probe.table.beacon(of: loop).pointee.waker = UnsafeMutablePointer(bitPattern: 64)
        try probe.expectEnd()
    }

    @Test func `the next activity of an armed loop is reported through the table`() throws {
        let probe = try WatchedProbe("looks")
        try probe.word("looped")
        try probe.next("looped")
        let loop = try #require(probe.table.live.first)
        _ = clb_waker_drain(clb_loop_table_waker(probe.table.raw))
        probe.table.beacon(of: loop).pointee.waker = UnsafeMutablePointer(bitPattern: 64)
        clb_beacon_rearm(probe.table.beacon(of: loop), UInt32(CLB_ARMED_REST))
        try probe.next("looped")
        #expect(clb_waker_wait_shared(clb_loop_table_waker(probe.table.raw), clb_now_ns() + 5_000_000_000) == 1)
        #expect(clb_beacon_answered_ns(probe.table.beacon(of: loop)) >= loop.claimed_ns)
        #expect(probe.table.beacon(of: loop).pointee.armed == 0)
        #expect(clb_waker_drain(clb_loop_table_waker(probe.table.raw)) >= loop.claimed_ns)
        try probe.expectEnd()
    }

    @Test func `the kernel shows which process maps the table`() throws {
        let probe = try WatchedProbe("loop")
        try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        var owner = clr_mapping_owner()
        #expect(clr_mapping_owner_find(probe.table.descriptor, loop.pid, loop.wait_sp, &owner) == 0)
        #expect(owner.maps_file == 1 && owner.start_ticks > 0)
        #expect(owner.stack_low <= loop.wait_sp && loop.wait_sp < owner.stack_high)
        // Another process, which a slot may name.
        #expect(clr_mapping_owner_find(probe.table.descriptor, getppid(), 0, &owner) == 0)
        #expect(owner.maps_file == 0 && owner.stack_high == 0)
        try probe.expectEnd()
        #expect(clr_mapping_owner_find(probe.table.descriptor, loop.pid, loop.wait_sp, &owner) == ESRCH)
    }
}
