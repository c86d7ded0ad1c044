internal import CLagBeacon
internal import CLagLinux
internal import Foundation
internal import Testing

@Suite("Threads and processes with the preloaded library")
struct ThreadAndProcessTests {
    @Test func eachThreadThatLoopsHasItsOwnSlot() throws {
        let probe = try WatchedProbe("threads")
        let words = [try probe.word("looped"), try probe.word("looped")]
        #expect(Set(probe.page.live.map(\.tid)) == Set(words.map(\.tid)))
        #expect(probe.page.live.allSatisfy { $0.pid == words[0].pid && $0.tid != $0.pid })
        probe.goOn()
        #expect(try probe.end() == (0, ""))
        #expect(probe.page.loops.count == 2 && probe.page.loops.allSatisfy(\.isEnded))
    }

    @Test func aThreadsEndEndsItsLoopAndLaterWaitsDoNoHarm() throws {
        let probe = try WatchedProbe("thread-end")
        let word = try probe.word("looped")
        #expect(probe.page.live.map(\.tid) == [word.tid])
        probe.goOn()
        _ = try probe.word("joined")
        let loop = try #require(probe.page.loops.first)
        #expect(probe.page.loops.count == 1 && loop.isEnded)
        #expect(probe.page.activity(of: loop) == CLB_ACTIVITY_FINISHED)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func aThreadCanBeCancelledInItsWait() throws {
        let probe = try WatchedProbe("cancel")
        _ = try probe.word("looped")
        let loop = try #require(probe.page.live.first)
        #expect(eventually { probe.page.activity(of: loop) == CLB_ACTIVITY_WAITING })
        probe.goOn()
        _ = try probe.word("joined")
        #expect(probe.page.loops.map(\.isEnded) == [true])
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func moreLoopsThanSlotsAreCountedAndGoOn() throws {
        let probe = try WatchedProbe("many-threads")
        _ = try probe.word("joined")
        #expect(probe.page.loops.count == Int(CLB_PAGE_SLOTS) && probe.page.loops.allSatisfy(\.isEnded))
        #expect(probe.page.raw.pointee.refused == 450 - UInt64(CLB_PAGE_SLOTS))
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func aForksChildStartsAnewAndLeavesItsParentsLoopAlone() throws {
        let probe = try WatchedProbe("fork")
        let parent = try probe.word("parent")
        let loop = try #require(probe.page.live.first)
        let word = clb_beacon_word(probe.page.beacon(of: loop))
        probe.goOn()
        let child = try probe.word("child")
        #expect(child.pid != parent.pid)
        // Seven waits of a process that has none yet.
        #expect(probe.page.loops.count == 1 && clb_beacon_word(probe.page.beacon(of: loop)) == word)
        probe.goOn()
        _ = try probe.word("child")
        #expect(Set(probe.page.live.map(\.pid)) == [parent.pid, child.pid])
        #expect(clb_beacon_word(probe.page.beacon(of: loop)) == word)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
        #expect(clb_beacon_word(probe.page.beacon(of: loop)) == word)
    }

    @Test func aForkInTheMidstOfAWaitIsNoticedAtItsEnd() throws {
        let probe = try WatchedProbe("handler")
        let word = try probe.word("looped")
        let loop = try #require(probe.page.loops.first)
        // Twelve waits of which the eighth was the first told, and the one in which the fork was: none of the child's.
        #expect(probe.page.loops.count == 1 && loop.pid == word.pid)
        #expect(probe.page.sequence(of: loop) == 13)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func execEndsTheLoopOfTheProgramBefore() throws {
        let probe = try WatchedProbe("exec")
        let before = try probe.word("looped")
        #expect(probe.page.live.map(\.pid) == [before.pid])
        probe.goOn()
        let after = try probe.word("thrice")
        #expect(after.pid == before.pid && probe.page.loops.map(\.isEnded) == [true])
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func helpersByVforkAndSpawnLeaveNoTrace() throws {
        let probe = try WatchedProbe("spawn")
        let word = try probe.word("looped")
        let loop = try #require(probe.page.loops.first)
        #expect(probe.page.loops.count == 1 && loop.isLive && loop.pid == word.pid)
        // Its own twelve waits and fifteen more.
        #expect(probe.page.sequence(of: loop) == 41)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func anArmedLoopWakesTheOneThatWaits() throws {
        let probe = try WatchedProbe("seven")
        _ = try probe.word("looped")
        _ = clb_page_drain(probe.page.raw)
        probe.goOn()
        _ = try probe.word("looped")
        // The new loop told so by itself.
        #expect(clb_waker_wait(clb_page_waker(probe.page.raw), clb_now_ns() + 5_000_000_000) == 1)
        let loop = try #require(probe.page.live.first)
        clb_beacon_rearm(probe.page.beacon(of: loop), UInt32(CLB_ARMED_ANY))
        // An address that another process wrote there is never followed.
        probe.page.beacon(of: loop).pointee.waker = UnsafeMutablePointer(bitPattern: 64)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func theNextActivityOfAnArmedLoopIsAnsweredThroughThePage() throws {
        let probe = try WatchedProbe("looks")
        _ = try probe.word("looped")
        probe.goOn()
        _ = try probe.word("looped")
        let loop = try #require(probe.page.live.first)
        _ = clb_page_drain(probe.page.raw)
        probe.page.beacon(of: loop).pointee.waker = UnsafeMutablePointer(bitPattern: 64)
        clb_beacon_rearm(probe.page.beacon(of: loop), UInt32(CLB_ARMED_REST))
        probe.goOn()
        _ = try probe.word("looped")
        #expect(clb_waker_wait(clb_page_waker(probe.page.raw), clb_now_ns() + 5_000_000_000) == 1)
        #expect(clb_beacon_answered_ns(probe.page.beacon(of: loop)) >= loop.claimed_ns)
        #expect(probe.page.beacon(of: loop).pointee.armed == 0)
        #expect(clb_page_drain(probe.page.raw) >= loop.claimed_ns)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func theKernelKnowsWhoHasThePage() throws {
        let probe = try WatchedProbe("loop")
        _ = try probe.word("looped")
        let loop = try #require(probe.page.live.first)
        var owner = cll_mapping_owner()
        #expect(cll_mapping_owner_find(probe.page.descriptor, loop.pid, loop.wait_sp, &owner) == 0)
        #expect(owner.maps_file == 1 && owner.start_ticks > 0)
        #expect(owner.stack_low <= loop.wait_sp && loop.wait_sp < owner.stack_high)
        // Any other process that a slot may name.
        #expect(cll_mapping_owner_find(probe.page.descriptor, getppid(), 0, &owner) == 0)
        #expect(owner.maps_file == 0 && owner.stack_high == 0)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
        #expect(cll_mapping_owner_find(probe.page.descriptor, loop.pid, loop.wait_sp, &owner) == ESRCH)
    }
}
