internal import CLagBeacon
internal import CLagRemote
internal import Foundation
internal import TestSupport
internal import Testing

@Suite("Waits that are published before they are known to be a loop")
struct FirstWaitTests {
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
        try probe.next("looped")
        let loop = try #require(probe.table.live.first)
        #expect(clb_claim_generation(loop.claim) == clb_claim_generation(candidate.claim))
        #expect(probe.table.loops.count == 1 && probe.table.sequence(of: loop) == 17)
        try probe.expectEnd()
    }

    @Test(arguments: [(Int(CLB_LOOP_TABLE_SLOTS) / 2, 1), (Int(CLB_LOOP_TABLE_SLOTS) / 2 + 1, 0)])
    func `provisional claims leave half of the table to confirmed loops`(taken: Int, provisional: Int) throws {
        let probe = try WatchedProbe("seven", "epoll_wait") { table in
            for _ in 0..<taken {
                var claim: UInt64 = 0
                _ = clb_loop_table_claim_slot(table.raw, UInt32(CLB_LOOP_FROM_PRELOAD), getpid(), 0, clb_now_ns(), &claim)
            }
        }
        try probe.word("looped")
        #expect(probe.table.provisional.count == provisional && probe.table.raw.pointee.refused == 0)
        try probe.next("looped")
        #expect(probe.table.live.count == 1)
        try probe.expectEnd()
    }

    /// Pool threads poll for replies.
    @Test func `waits of another thread for one descriptor are published only once they are a loop`() throws {
        let probe = try WatchedProbe("seven-thread", "one poll")
        try probe.word("looped")
        #expect(probe.table.loops.isEmpty)
        try probe.next("looped")
        #expect(probe.table.live.count == 1)
        try probe.expectEnd()
    }

    @Test(arguments: ["epoll_wait", "set poll"])
    func `only some of many threads are published as provisional claims`(call: String) throws {
        let probe = try WatchedProbe("crowd", call)
        try probe.word("looped")
        #expect(probe.table.provisional.count == 16 && probe.table.loops.count == 16)
        probe.goOn()
        // A forked child, whose threads are counted from the start.
        let child = try probe.word("looped")
        #expect(probe.table.provisional.map(\.pid) == [child.pid] && probe.table.loops.count == 17)
        // Two waits on an epoll instance confirmed the claims of the other threads; two waits by poll did not.
        #expect(probe.table.loops.count(where: \.isEnded) == (call == "epoll_wait" ? 16 : 0))
        for _ in 0..<2 { probe.goOn() }
        try probe.word("looped")
        #expect(try probe.end() == (0, ""))
    }

    @Test func `an epoll instance with the number of a closed one gets its own claim`() throws {
        let probe = try WatchedProbe("renewed")
        try probe.word("looped")
        let candidate = try #require(probe.table.provisional.first)
        #expect(probe.table.loops.count(where: \.isWithdrawn) == 1 && probe.table.sequence(of: candidate) == 15)
        try probe.next("looped")
        #expect(probe.table.live.count == 1 && probe.table.loops.count == 2)
        try probe.expectEnd()
    }

    @Test func `a wait in progress when its claim is withdrawn publishes nothing more`() throws {
        let probe = try WatchedProbe("waits-in-handler")
        try probe.word("looped")
        let candidate = try #require(probe.table.loops.first)
        // It began its wait and did nothing more.
        #expect(candidate.isWithdrawn && probe.table.loops.count == 1 && probe.table.sequence(of: candidate) == 2)
        try probe.expectEnd()
    }

    @Test func `waits for replies during startup leave a claim for the loop`() throws {
        let probe = try WatchedProbe("starts")
        try probe.word("looped")
        #expect(probe.table.loops.filter(\.isWithdrawn).count == 4 && probe.table.provisional.count == 1)
        #expect(probe.table.loops.count == 5)
        try probe.expectEnd()
    }

    @Test func `a provisional claim ends withdrawn and unconfirmed`() throws {
        let probe = try WatchedProbe("thrice-main-ends")
        try probe.word("thrice")
        #expect(probe.table.provisional.count == 1)
        try probe.expectEnd()
        let loop = try #require(probe.table.loops.first)
        #expect(loop.isWithdrawn && clr_claim_is_confirmed(loop.claim) == 0)
    }

    @Test func `the provisional claim of a program that exits is withdrawn`() throws {
        let probe = try WatchedProbe("thrice", "set poll")
        try probe.word("thrice")
        #expect(probe.table.provisional.count == 1)
        try probe.expectEnd()
        #expect(probe.table.loops.map(\.isWithdrawn) == [true])
    }

    /// Also a loop on one descriptor, which at the loop's stack depth would be the connection of a handler.
    @Test(arguments: ["poll", "one poll"]) func `another loop on the main thread gets its own claim`(call: String) throws {
        let probe = try WatchedProbe("after-epoll", call)
        try probe.word("thrice")
        let candidate = try #require(probe.table.provisional.first)
        try probe.next("looped")
        let loop = try #require(probe.table.live.first)
        #expect(loop.claim != candidate.claim && probe.table.loops.filter(\.isWithdrawn).count == 1)
        try probe.expectEnd()
    }

    @Test func `alternating candidates are claimed only a few times`() throws {
        let probe = try WatchedProbe("turn-about")
        try probe.word("looped")
        #expect(probe.table.loops.count == 4 && probe.table.live.isEmpty)
        try probe.expectEnd()
    }
}
