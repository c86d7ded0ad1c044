internal import CLagBeacon
internal import CLagRemote
internal import Foundation
internal import TestSupport
internal import Testing

@Suite("Which waits are a loop")
struct LoopFindingTests {
    @Test(arguments: [
        "epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "__poll_chk", "ppoll", "__ppoll_chk", "select", "pselect",
    ])
    func `a thread that waits again and again is a loop`(call: String) throws {
        let probe = try WatchedProbe("loop", call)
        let word = try probe.word("looped")
        let loop = try #require(probe.table.loops.first)
        #expect(probe.table.loops.count == 1 && loop.isLive)
        #expect(loop.pid == word.pid && loop.tid == word.tid && loop.kind == UInt32(CLB_LOOP_FROM_PRELOAD))
        // It came back from its last wait and blocks elsewhere: at work.
        #expect(probe.table.activity(of: loop) == CLB_ACTIVITY_AFTER_WAITING)
        // Each a rest and its end; one before, for the claim. On epoll all twelve waits; otherwise the eighth and the four after it.
        #expect(probe.table.sequence(of: loop) == (call.hasPrefix("epoll") ? 25 : 11))
        #expect(loop.wait_sp != 0 && loop.wait_return != 0 && loop.inner_waits == 0)
        // From the clock that this process has as well.
        let woke = clb_beacon_woke_ns(probe.table.beacon(of: loop))
        #expect(woke >= loop.claimed_ns && woke <= clb_now_ns())
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    /// A worker that serves one connection after the other, without a wait while there are any (gunicorn's default).
    @Test(arguments: [("set select", 2), ("one poll", 2), ("epoll_wait", 0)])
    func `a loop on poll that takes the next connection begins another turn`(call: String, turns: UInt64) throws {
        let probe = try WatchedProbe("accepts", call)
        _ = try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        let beacon = probe.table.beacon(of: loop)
        var (sequences, begins) = ([probe.table.sequence(of: loop)], [clb_beacon_callout_ns(beacon)])
        for _ in 0..<3 {
            probe.goOn()
            _ = try probe.word("accepted")
            sequences.append(probe.table.sequence(of: loop))
            begins.append(clb_beacon_callout_ns(beacon))
            #expect(probe.table.activity(of: loop) == CLB_ACTIVITY_AFTER_WAITING)
        }
        // The first is what the wait was for. Each further one is a rest and its end.
        #expect(sequences[1] == sequences[0] && begins[1] == begins[0])
        #expect(sequences[3] == sequences[0] + 2 * turns)
        #expect((begins[2] > begins[1] && begins[3] > begins[2]) == (turns > 0))
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    /// As servers do whose handlers have an event loop of their own. One that lasts is followed, until it is over.
    @Test(arguments: [("one poll", 20, "inner"), ("set poll", 20, "inner"), ("set poll", 20, "outer"), ("set poll", 55, "inner")])
    func `what waits while a connection is served is a handler`(call: String, waits: Int, place: String) throws {
        let probe = try WatchedProbe("serves", call, "\(waits)", place)
        let changes: UInt64 = waits > 32 ? 1 : 0
        _ = try probe.word("served")
        let loop = try #require(probe.table.live.first)
        #expect(probe.table.loops.count == 1 && loop.changes == changes)
        #expect((clr_loop_table_is_serving(probe.table.raw, probe.table.index(of: loop)) != 0) == (changes == 0))
        let sequence = probe.table.sequence(of: loop)
        probe.goOn()
        _ = try probe.word("looped")
        #expect(probe.table.live.first?.changes == 2 * changes)
        #expect(probe.table.sequence(of: loop) == sequence + 2)
        #expect(clr_loop_table_is_serving(probe.table.raw, probe.table.index(of: loop)) == 0)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func `what a connection comes from at another place is served by nothing that is known`() throws {
        let probe = try WatchedProbe("accepts-elsewhere", "set poll")
        _ = try probe.word("accepted")
        let loop = try #require(probe.table.live.first)
        #expect(clr_loop_table_is_serving(probe.table.raw, probe.table.index(of: loop)) == 0)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    /// As of a Qt program that a client connects to while it starts: it looks without waiting at first.
    @Test func `a connection that came before the first wait is not a start's to serve`() throws {
        let probe = try WatchedProbe("accepts-early")
        _ = try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        #expect(clr_loop_table_is_serving(probe.table.raw, probe.table.index(of: loop)) == 0)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func `the eighth wait makes the loop`() throws {
        let probe = try WatchedProbe("seven")
        _ = try probe.word("looped")
        #expect(probe.table.live.isEmpty)
        probe.goOn()
        _ = try probe.word("looped")
        #expect(probe.table.live.count == 1)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test(arguments: ["epoll_wait", "one poll", "set poll", "set ppoll", "set select", "set pselect"])
    func `a main threads first waits for events are published as provisional`(call: String) throws {
        try Self.expectProvisional("seven", call)
    }

    @Test(arguments: ["epoll_wait", "set poll", "set select"])
    func `so are another threads`(call: String) throws { try Self.expectProvisional("seven-thread", call) }

    private static func expectProvisional(_ name: String, _ call: String) throws {
        let probe = try WatchedProbe(name, call)
        let word = try probe.word("looped")
        let candidate = try #require(probe.table.provisional.first)
        #expect(probe.table.loops.count == 1 && candidate.pid == word.pid && candidate.tid == word.tid)
        // Each of the seven is a rest already.
        #expect(probe.table.sequence(of: candidate) == 15 && candidate.wait_sp != 0)
        probe.goOn()
        _ = try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        #expect(clb_claim_generation(loop.claim) == clb_claim_generation(candidate.claim))
        #expect(probe.table.loops.count == 1 && probe.table.sequence(of: loop) == 17)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test(arguments: [(Int(CLB_LOOP_TABLE_SLOTS) / 2, 1), (Int(CLB_LOOP_TABLE_SLOTS) / 2 + 1, 0)])
    func `what may be no loop leaves half of the table to loops`(taken: Int, provisional: Int) throws {
        let probe = try WatchedProbe("seven", "epoll_wait") { table in
            for _ in 0..<taken {
                var claim: UInt64 = 0
                _ = clb_loop_table_claim_slot(table.raw, UInt32(CLB_LOOP_FROM_PRELOAD), getpid(), 0, clb_now_ns(), &claim)
            }
        }
        _ = try probe.word("looped")
        #expect(probe.table.provisional.count == provisional && probe.table.raw.pointee.refused == 0)
        probe.goOn()
        _ = try probe.word("looped")
        #expect(probe.table.live.count == 1)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    /// Threads of pools poll for answers.
    @Test func `another threads waits for one descriptor are not published before they are a loop`() throws {
        let probe = try WatchedProbe("seven-thread", "one poll")
        _ = try probe.word("looped")
        #expect(probe.table.loops.isEmpty)
        probe.goOn()
        _ = try probe.word("looped")
        #expect(probe.table.live.count == 1)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test(arguments: [
        ("few", "epoll_wait", 2), ("few", "one poll", 2), ("few", "set poll", 2), ("few-thread", "epoll_wait", 2),
        ("few-thread", "set poll", 4),
    ])
    func `few waits are a loop half a second after the first`(name: String, call: String, waits: Int) throws {
        for count in [waits - 1, waits] {
            let probe = try WatchedProbe(name, call, "\(count)")
            _ = try probe.word("looped")
            #expect(probe.table.loops.count == 1 && probe.table.live.count == (count < waits ? 0 : 1), "\(count)")
            probe.goOn()
            #expect(try probe.end() == (0, ""))
        }
    }

    @Test func `few waits of another thread for one descriptor are no loop`() throws {
        let probe = try WatchedProbe("few-thread", "one poll", "7")
        _ = try probe.word("looped")
        #expect(probe.table.loops.isEmpty)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test(arguments: ["epoll_wait", "set poll"])
    func `of many threads some are published as provisional`(call: String) throws {
        let probe = try WatchedProbe("crowd", call)
        _ = try probe.word("looped")
        #expect(probe.table.provisional.count == 16 && probe.table.loops.count == 16)
        probe.goOn()
        // A fork's child, whose threads count anew.
        let child = try probe.word("looped")
        #expect(probe.table.provisional.map(\.pid) == [child.pid] && probe.table.loops.count == 17)
        // Of the others two waits on an epoll instance made no loop.
        #expect(probe.table.loops.count(where: \.isEnded) == (call == "epoll_wait" ? 16 : 0))
        for _ in 0..<2 { probe.goOn() }
        _ = try probe.word("looped")
        #expect(try probe.end() == (0, ""))
    }

    @Test func `an instance with the number of one that was closed has a claim of its own`() throws {
        let probe = try WatchedProbe("renewed")
        _ = try probe.word("looped")
        let candidate = try #require(probe.table.provisional.first)
        #expect(probe.table.loops.count(where: \.isWithdrawn) == 1 && probe.table.sequence(of: candidate) == 15)
        probe.goOn()
        _ = try probe.word("looped")
        #expect(probe.table.live.count == 1 && probe.table.loops.count == 2)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func `a wait that was in progress when its claim was withdrawn publishes nothing`() throws {
        let probe = try WatchedProbe("waits-in-handler")
        _ = try probe.word("looped")
        let candidate = try #require(probe.table.loops.first)
        // It began its wait, and no more.
        #expect(candidate.isWithdrawn && probe.table.loops.count == 1 && probe.table.sequence(of: candidate) == 2)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func `the answers that a start waits for leave a claim for its loop`() throws {
        let probe = try WatchedProbe("starts")
        _ = try probe.word("looped")
        #expect(probe.table.loops.filter(\.isWithdrawn).count == 4 && probe.table.provisional.count == 1)
        #expect(probe.table.loops.count == 5)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func `a provisional claim ends without having been a loop`() throws {
        let probe = try WatchedProbe("thrice-main-ends")
        _ = try probe.word("thrice")
        #expect(probe.table.provisional.count == 1)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
        let loop = try #require(probe.table.loops.first)
        #expect(loop.isWithdrawn && clr_claim_is_confirmed(loop.claim) == 0)
    }

    @Test func `the claim of a program that waits and exits is withdrawn`() throws {
        let probe = try WatchedProbe("thrice", "set poll")
        _ = try probe.word("thrice")
        #expect(probe.table.provisional.count == 1)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
        #expect(probe.table.loops.map(\.isWithdrawn) == [true])
    }

    /// Also one for one descriptor, which at the loop's depth would be a handler's connection.
    @Test(arguments: ["poll", "one poll"]) func `another loop of the main thread gets a claim of its own`(call: String) throws {
        let probe = try WatchedProbe("after-epoll", call)
        _ = try probe.word("thrice")
        let candidate = try #require(probe.table.provisional.first)
        probe.goOn()
        _ = try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        #expect(loop.claim != candidate.claim && probe.table.loops.filter(\.isWithdrawn).count == 1)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func `candidates that take turns are claimed a few times only`() throws {
        let probe = try WatchedProbe("turn-about")
        _ = try probe.word("looped")
        #expect(probe.table.loops.count == 4 && probe.table.live.isEmpty)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func `a loop ends where its program exits`() throws {
        let probe = try WatchedProbe("seven", "set poll")
        _ = try probe.word("looped")
        probe.goOn()
        _ = try probe.word("looped")
        #expect(probe.table.live.count == 1)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
        let loop = try #require(probe.table.loops.first)
        #expect(loop.isEnded && probe.table.activity(of: loop) == CLB_ACTIVITY_FINISHED)
    }

    @Test(arguments: ["_exit", "_Exit", "quick_exit"])
    func `a loop ends where its process ends without exit handlers`(call: String) throws {
        let probe = try WatchedProbe("quits", "set poll", call)
        _ = try probe.word("looped")
        // Its child has ended so before, with the same memory.
        #expect(probe.table.live.count == 1)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
        let loop = try #require(probe.table.loops.first)
        #expect(loop.isEnded && probe.table.activity(of: loop) == CLB_ACTIVITY_FINISHED)
    }

    /// Whoever sleeps further out than its last wait has left the function that waits.
    @Test func `the place of the last wait on an instance is published`() throws {
        let probe = try WatchedProbe("wanders")
        _ = try probe.word("looped")
        let deep = try #require(probe.table.live.first)
        probe.goOn()
        _ = try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        #expect(loop.wait_sp >= deep.wait_sp + 4096 && loop.changes == 0)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test(arguments: ["thrice", "elsewhere"])
    func `what does not loop gets no slot`(case name: String) throws {
        let probe = try WatchedProbe(name, "poll")
        _ = try probe.word(name == "thrice" ? "thrice" : "looped")
        #expect(probe.table.loops.isEmpty)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func `polls without waiting make no loop but are rests of one`() throws {
        let probe = try WatchedProbe("looks")
        _ = try probe.word("looped")
        #expect(probe.table.loops.isEmpty)
        probe.goOn()
        _ = try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        let before = probe.table.sequence(of: loop)
        probe.goOn()
        _ = try probe.word("looped")
        #expect(probe.table.sequence(of: loop) == before + 10)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    // libuv with pending immediates, as in node's HTTP server: it waits in earnest when it is idle, and else with time-out 0.
    @Test func `polls at the place of a real wait count as waits`() throws {
        let probe = try WatchedProbe("seldom")
        _ = try probe.word("looped")
        #expect(probe.table.live.isEmpty)
        probe.goOn()
        _ = try probe.word("looped")
        #expect(probe.table.live.count == 1)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test(arguments: ["poll", "set poll"]) func `a wait within the work is no rest`(call: String) throws {
        let probe = try WatchedProbe("nested", call)
        _ = try probe.word("nested")
        let loop = try #require(probe.table.live.first)
        let sequence = probe.table.sequence(of: loop)
        #expect(eventually { probe.table.live.first?.inner_waits == 1 })
        // It sleeps in poll(2) now, and is at work all the same.
        #expect(probe.table.activity(of: loop) == CLB_ACTIVITY_AFTER_WAITING)
        probe.goOn()
        _ = try probe.word("back")
        #expect(probe.table.sequence(of: loop) == sequence)
        probe.goOn()
        _ = try probe.word("again")
        // Twelve waits elsewhere were none; the next one at the loop's place is a rest again.
        #expect(probe.table.sequence(of: loop) == sequence + 2)
        #expect(probe.table.live.first?.inner_waits == 13)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func `an epoll instance is the loop wherever it is waited on`() throws {
        let probe = try WatchedProbe("elsewhere", "epoll_wait")
        _ = try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        // 49 waits, each at another place; each a rest and its end.
        #expect(loop.changes == 0 && loop.inner_waits == 0 && probe.table.sequence(of: loop) == 99)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test(arguments: [("poll", "poll"), ("one poll", "set poll"), ("one poll", "epoll_wait"), ("set poll", "epoll_wait")])
    func `a loop that goes on further out is followed`(start: String, later: String) throws {
        let probe = try WatchedProbe("other-loop", start, later)
        _ = try probe.word("started")
        let first = try #require(probe.table.live.first)
        let sequence = probe.table.sequence(of: first)
        probe.goOn()
        _ = try probe.word("looped")
        let second = try #require(probe.table.live.first)
        #expect(second.claim == first.claim && second.wait_sp > first.wait_sp && second.changes == 1)
        // At once, or at the fourth wait on an instance.
        let inner: UInt64 = later == "epoll_wait" ? 3 : 0
        #expect(second.inner_waits == inner)
        #expect(probe.table.sequence(of: second) == sequence + 2)
        probe.goOn()
        _ = try probe.word("looped")
        #expect(probe.table.live.first?.changes == 1)
        #expect(probe.table.sequence(of: second) == sequence + 2 * (55 - inner))
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func `a loop within a handler gives way to the outer one at once`() throws {
        let probe = try WatchedProbe("inner-loop", "poll")
        _ = try probe.word("started")
        let outer = try #require(probe.table.live.first)
        probe.goOn()
        _ = try probe.word("inner")
        let inner = try #require(probe.table.live.first)
        #expect(inner.changes == 1 && inner.wait_sp < outer.wait_sp)
        let sequence = probe.table.sequence(of: inner)
        probe.goOn()
        _ = try probe.word("outer")
        let back = try #require(probe.table.live.first)
        #expect(back.changes == 2 && back.wait_sp == outer.wait_sp)
        #expect(probe.table.sequence(of: back) == sequence + 24)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }
}
