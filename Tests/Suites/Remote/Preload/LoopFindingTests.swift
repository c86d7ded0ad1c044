internal import CLagBeacon
internal import CLagRemote
internal import Foundation
internal import TestSupport
internal import Testing

@Suite("Which waits are recognised as a loop")
struct LoopFindingTests {
    /// "By number": as with syscall(2).
    private static let calls = [
        "epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "__poll_chk", "ppoll", "__ppoll_chk", "select", "pselect",
        "epoll_pwait by number", "epoll_pwait2 by number",
    ]
    #if arch(x86_64)
        private static let olderCalls = ["epoll_wait by number", "poll by number"]
    #else
        private static let olderCalls: [String] = []
    #endif

    @Test(arguments: calls + olderCalls)
    func `a thread that waits repeatedly is a loop`(call: String) throws {
        let probe = try WatchedProbe("loop", call)
        let word = try probe.word("looped")
        let loop = try #require(probe.table.loops.first)
        #expect(probe.table.loops.count == 1 && loop.isLive)
        #expect(loop.pid == word.pid && loop.tid == word.tid && loop.kind == UInt32(CLB_LOOP_FROM_PRELOAD))
        // It returned from its last wait and blocks elsewhere: it is at work.
        #expect(probe.table.activity(of: loop) == CLB_ACTIVITY_AFTER_WAITING)
        // One for the claim, two per wait: start and end. With epoll all twelve waits count, otherwise the last five.
        #expect(probe.table.sequence(of: loop) == (call.hasPrefix("epoll") ? 25 : 11))
        #expect(loop.wait_sp != 0 && loop.wait_return != 0 && loop.inner_waits == 0)
        // By the clock that this process also uses.
        let woke = clb_beacon_woke_ns(probe.table.beacon(of: loop))
        #expect(woke >= loop.claimed_ns && woke <= clb_now_ns())
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    /// A compiler may put a handler into the loop's function.
    @Test func `another call of the loop's function for fewer descriptors is a handler's`() throws {
        let probe = try WatchedProbe("inlined")
        _ = try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        let sequence = probe.table.sequence(of: loop)
        probe.goOn()
        _ = try probe.word("polled")
        #expect(probe.table.sequence(of: loop) == sequence)
        #expect(probe.table.activity(of: loop) == CLB_ACTIVITY_AFTER_WAITING)
        // The same call for fewer is the loop's: its clients have left.
        probe.goOn()
        _ = try probe.word("looped")
        #expect(probe.table.sequence(of: loop) == sequence + 2)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    /// A worker that serves one connection after the other and does not wait while there are any (gunicorn's default).
    @Test(arguments: [("set select", 2), ("one poll", 2), ("epoll_wait", 0)])
    func `a poll loop that accepts the next connection without waiting begins an iteration`(call: String, turns: UInt64) throws {
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
        // The wait was for the first connection. Each further connection counts as a wait and its end.
        #expect(sequences[1] == sequences[0] && begins[1] == begins[0])
        #expect(sequences[3] == sequences[0] + 2 * turns)
        #expect((begins[2] > begins[1] && begins[3] > begins[2]) == (turns > 0))
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    /// As in servers whose handlers have their own event loop. A nested loop that lasts is followed until it ends.
    @Test(arguments: [("one poll", 20, "inner"), ("set poll", 20, "inner"), ("set poll", 20, "outer"), ("set poll", 55, "inner")])
    func `a wait while a connection is served belongs to a handler`(call: String, waits: Int, place: String) throws {
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

    @Test func `a connection accepted outside the loop does not mark the loop as serving`() throws {
        let probe = try WatchedProbe("accepts-elsewhere", "set poll")
        _ = try probe.word("accepted")
        let loop = try #require(probe.table.live.first)
        #expect(clr_loop_table_is_serving(probe.table.raw, probe.table.index(of: loop)) == 0)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    /// As in a Qt program to which a client connects during startup: it polls without waiting at first.
    @Test func `a connection accepted before the first wait does not mark the loop as serving`() throws {
        let probe = try WatchedProbe("accepts-early")
        _ = try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        #expect(clr_loop_table_is_serving(probe.table.raw, probe.table.index(of: loop)) == 0)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func `the eighth wait confirms the loop`() throws {
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
    func `the first waits for events on the main thread are published as a provisional claim`(call: String) throws {
        try Self.expectProvisional("seven", call)
    }

    @Test(arguments: ["epoll_wait", "set poll", "set select"])
    func `the first waits for events on another thread are published as a provisional claim`(call: String) throws {
        try Self.expectProvisional("seven-thread", call)
    }

    private static func expectProvisional(_ name: String, _ call: String) throws {
        let probe = try WatchedProbe(name, call)
        let word = try probe.word("looped")
        let candidate = try #require(probe.table.provisional.first)
        #expect(probe.table.loops.count == 1 && candidate.pid == word.pid && candidate.tid == word.tid)
        // Each of the seven waits already counts as a wait of the loop.
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
    func `provisional claims leave half of the table to confirmed loops`(taken: Int, provisional: Int) throws {
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

    /// Pool threads poll for replies.
    @Test func `waits of another thread for one descriptor are published only once they are a loop`() throws {
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
    func `a few waits are a loop half a second after the first one`(name: String, call: String, waits: Int) throws {
        for count in [waits - 1, waits] {
            let probe = try WatchedProbe(name, call, "\(count)")
            _ = try probe.word("looped")
            #expect(probe.table.loops.count == 1 && probe.table.live.count == (count < waits ? 0 : 1), "\(count)")
            probe.goOn()
            #expect(try probe.end() == (0, ""))
        }
    }

    @Test func `a few waits of another thread for one descriptor are not a loop`() throws {
        let probe = try WatchedProbe("few-thread", "one poll", "7")
        _ = try probe.word("looped")
        #expect(probe.table.loops.isEmpty)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test(arguments: ["epoll_wait", "set poll"])
    func `only some of many threads are published as provisional claims`(call: String) throws {
        let probe = try WatchedProbe("crowd", call)
        _ = try probe.word("looped")
        #expect(probe.table.provisional.count == 16 && probe.table.loops.count == 16)
        probe.goOn()
        // A forked child, whose threads are counted from the start.
        let child = try probe.word("looped")
        #expect(probe.table.provisional.map(\.pid) == [child.pid] && probe.table.loops.count == 17)
        // Two waits on an epoll instance confirmed the claims of the other threads; two waits by poll did not.
        #expect(probe.table.loops.count(where: \.isEnded) == (call == "epoll_wait" ? 16 : 0))
        for _ in 0..<2 { probe.goOn() }
        _ = try probe.word("looped")
        #expect(try probe.end() == (0, ""))
    }

    @Test func `an epoll instance with the number of a closed one gets its own claim`() throws {
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

    @Test func `a wait in progress when its claim is withdrawn publishes nothing more`() throws {
        let probe = try WatchedProbe("waits-in-handler")
        _ = try probe.word("looped")
        let candidate = try #require(probe.table.loops.first)
        // It began its wait and did nothing more.
        #expect(candidate.isWithdrawn && probe.table.loops.count == 1 && probe.table.sequence(of: candidate) == 2)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func `waits for replies during startup leave a claim for the loop`() throws {
        let probe = try WatchedProbe("starts")
        _ = try probe.word("looped")
        #expect(probe.table.loops.filter(\.isWithdrawn).count == 4 && probe.table.provisional.count == 1)
        #expect(probe.table.loops.count == 5)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func `a provisional claim ends withdrawn and unconfirmed`() throws {
        let probe = try WatchedProbe("thrice-main-ends")
        _ = try probe.word("thrice")
        #expect(probe.table.provisional.count == 1)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
        let loop = try #require(probe.table.loops.first)
        #expect(loop.isWithdrawn && clr_claim_is_confirmed(loop.claim) == 0)
    }

    @Test func `the provisional claim of a program that exits is withdrawn`() throws {
        let probe = try WatchedProbe("thrice", "set poll")
        _ = try probe.word("thrice")
        #expect(probe.table.provisional.count == 1)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
        #expect(probe.table.loops.map(\.isWithdrawn) == [true])
    }

    /// Also a loop on one descriptor, which at the loop's stack depth would be the connection of a handler.
    @Test(arguments: ["poll", "one poll"]) func `another loop on the main thread gets its own claim`(call: String) throws {
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

    @Test func `alternating candidates are claimed only a few times`() throws {
        let probe = try WatchedProbe("turn-about")
        _ = try probe.word("looped")
        #expect(probe.table.loops.count == 4 && probe.table.live.isEmpty)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func `a loop ends when its program exits`() throws {
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
    func `a loop ends when its process exits without exit handlers`(call: String) throws {
        let probe = try WatchedProbe("quits", "set poll", call)
        _ = try probe.word("looped")
        // Its child has exited in the same way before, with the same memory.
        #expect(probe.table.live.count == 1)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
        let loop = try #require(probe.table.loops.first)
        #expect(loop.isEnded && probe.table.activity(of: loop) == CLB_ACTIVITY_FINISHED)
    }

    /// A thread that sleeps further out than its last wait has left the function that waits.
    @Test func `the stack position of the last wait on an epoll instance is published`() throws {
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
    func `a thread that does not loop gets no slot`(case name: String) throws {
        let probe = try WatchedProbe(name, "poll")
        _ = try probe.word(name == "thrice" ? "thrice" : "looped")
        #expect(probe.table.loops.isEmpty)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func `polls without waiting do not make a loop, but count as waits of an existing loop`() throws {
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

    // libuv with pending immediates, as in node's HTTP server: it really waits only when idle, otherwise it polls with timeout 0.
    @Test func `polls at the location of a real wait count as waits`() throws {
        let probe = try WatchedProbe("seldom")
        _ = try probe.word("looped")
        #expect(probe.table.live.isEmpty)
        probe.goOn()
        _ = try probe.word("looped")
        #expect(probe.table.live.count == 1)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test(arguments: ["poll", "set poll"]) func `a wait within a handler does not count as a wait of the loop`(call: String)
        throws
    {
        let probe = try WatchedProbe("nested", call)
        _ = try probe.word("nested")
        let loop = try #require(probe.table.live.first)
        let sequence = probe.table.sequence(of: loop)
        #expect(eventually { probe.table.live.first?.inner_waits == 1 })
        // It now sleeps in poll(2), but is still at work.
        #expect(probe.table.activity(of: loop) == CLB_ACTIVITY_AFTER_WAITING)
        probe.goOn()
        _ = try probe.word("back")
        #expect(probe.table.sequence(of: loop) == sequence)
        probe.goOn()
        _ = try probe.word("again")
        // Twelve waits elsewhere did not count; the next one at the loop's location counts again.
        #expect(probe.table.sequence(of: loop) == sequence + 2)
        #expect(probe.table.live.first?.inner_waits == 13)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test func `an epoll instance is one loop at whatever location a thread waits on it`() throws {
        let probe = try WatchedProbe("elsewhere", "epoll_wait")
        _ = try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        // 49 waits, each at another location; each counts as a wait and its end.
        #expect(loop.changes == 0 && loop.inner_waits == 0 && probe.table.sequence(of: loop) == 99)
        probe.goOn()
        #expect(try probe.end() == (0, ""))
    }

    @Test(arguments: [("poll", "poll"), ("one poll", "set poll"), ("one poll", "epoll_wait"), ("set poll", "epoll_wait")])
    func `a loop that continues further out in the stack is followed`(start: String, later: String) throws {
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

    @Test func `a nested loop in a handler gives way to the outer loop at once`() throws {
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
