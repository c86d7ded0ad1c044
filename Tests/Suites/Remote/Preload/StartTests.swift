internal import CLagBeacon
internal import CLagRemote
internal import Foundation
internal import TestSupport
internal import Testing

@Suite("Starts whose waits look like a loop's")
struct StartTests {
    /// As without the start.
    @Test func `after a start's polls the first wait on an instance is published as a provisional claim`() async throws {
        try await atOnce(["one poll", "set poll", "set select"]) { try Self.expectClaim(after: $0) }
    }

    private static func expectClaim(after start: String) throws {
        let probe = try WatchedProbe("other-loop", start, "epoll_wait")
        try probe.word("started")
        let polled = try probe.table.index(of: #require(probe.table.live.first))
        try probe.next("looped")
        let candidate = try #require(probe.table.provisional.first)
        #expect(probe.table.loops.count == 2 && probe.table.live.isEmpty && probe.table.sequence(of: candidate) == 3)
        let index = probe.table.index(of: candidate)
        let start = try #require(probe.table.loops.filter(\.isWithdrawn).first)
        #expect(probe.table.index(of: start) == polled && probe.table.activity(of: start) == CLB_ACTIVITY_FINISHED)
        try probe.next("looped")
        let loop = try #require(probe.table.live.first)
        #expect(probe.table.index(of: loop) == index && loop.changes == 0)
        #expect(probe.table.loops.count == 2 && probe.table.sequence(of: loop) == 1 + 2 * 55)
        try probe.expectEnd()
    }

    @Test(arguments: ["one poll", "set poll"])
    func `a young loop whose handler waited on an instance is a loop again at its next wait`(call: String) throws {
        let probe = try WatchedProbe("returns", call)
        try probe.word("started")
        let first = try #require(probe.table.live.first)
        try probe.next("looped")
        let loop = try #require(probe.table.live.first)
        #expect(loop.wait_sp == first.wait_sp && loop.changes == 0)
        #expect(probe.table.loops.count == 3 && probe.table.loops.count(where: \.isWithdrawn) == 2)
        // It is not younger than before.
        #expect(loop.claimed_ns <= first.claimed_ns)
        let sequence = probe.table.sequence(of: loop)
        try probe.next("looped")
        #expect(probe.table.live.first?.claim == loop.claim && probe.table.sequence(of: loop) == sequence + 4)
        try probe.expectEnd()
    }

    /// So many waits make the instance the loop's.
    @Test func `a young loop whose handler waited on an instance several times is a loop again at its next wait`() throws {
        let probe = try WatchedProbe("returns", "set poll", "9")
        try probe.word("started")
        let first = try #require(probe.table.live.first)
        try probe.next("looped")
        let loop = try #require(probe.table.live.first)
        #expect(loop.wait_sp == first.wait_sp && loop.changes == 1)
        #expect(loop.claimed_ns <= first.claimed_ns)
        let sequence = probe.table.sequence(of: loop)
        try probe.next("looped")
        #expect(probe.table.live.first?.claim == loop.claim && probe.table.sequence(of: loop) == sequence + 4)
        try probe.expectEnd()
    }

    /// A handler may wait where the start waited: in CPython, calls of its language are not on the C stack. 12 waits of 500 ms.
    @Test func `a handler's wait at the place of a start is not taken for the loop's`() throws {
        let probe = try WatchedProbe("returns", "set poll", "12", "500")
        try probe.word("started")
        let start = try #require(probe.table.live.first)
        try probe.next("looped")
        let loop = try #require(probe.table.live.first)
        #expect(loop.wait_sp > start.wait_sp && loop.changes == 0 && loop.inner_waits == 1)
        try probe.next("looped")
        try probe.expectEnd()
    }

    /// A handler looks for an answer, at the place of a start. So many waits on the instance make it the loop's, or a candidate.
    @Test(arguments: [("9", true), ("1", false)])
    func `a wait that cannot last is no return to the place of a start`(waits: String, isLoop: Bool) throws {
        let probe = try WatchedProbe("returns", "set poll", waits, "1", "0")
        try probe.word("started")
        let start = try #require(probe.table.live.first)
        try probe.next("looped")
        #expect(probe.table.live.count == (isLoop ? 1 : 0) && probe.table.provisional.count == (isLoop ? 0 : 1))
        let loop = try #require(isLoop ? probe.table.live.first : probe.table.provisional.first)
        #expect(loop.wait_sp > start.wait_sp && loop.changes == 0)
        try probe.next("looped")
        #expect(probe.table.live.first?.wait_sp == start.wait_sp)
        try probe.expectEnd()
    }

    @Test func `a young loop whose handler waited on an instance is a loop again if no slot is free`() throws {
        let probe = try WatchedProbe("returns", "set poll", "1", "1", "0")
        try probe.word("started")
        let start = try #require(probe.table.live.first)
        try probe.next("looped")
        let candidate = try #require(probe.table.provisional.first)
        let index = probe.table.index(of: candidate)
        for _ in 2..<Int(CLB_LOOP_TABLE_SLOTS) {
            var claim: UInt64 = 0
            _ = clb_loop_table_claim_slot(probe.table.raw, UInt32(CLB_LOOP_FROM_PRELOAD), getpid(), 0, clb_now_ns(), &claim)
        }
        try probe.next("looped")
        let loop = try #require(probe.table.live.first)
        #expect(probe.table.index(of: loop) == index && loop.wait_sp == start.wait_sp)
        #expect(probe.table.raw.pointee.refused == 1)
        try probe.expectEnd()
    }

    /// The one further out in the stack, after 12 s.
    @Test func `of two places at which a thread waits in turns one is the loop's after some seconds`() async throws {
        try await atOnce(["inner", "outer"]) { try Self.expectOuter(start: $0) }
    }

    private static func expectOuter(start: String) throws {
        let probe = try WatchedProbe("alternates", "set poll", start)
        try probe.word("started")
        let polled = try #require(probe.table.live.first)
        try probe.next("looped")
        let loop = try #require(probe.table.live.first)
        #expect((loop.wait_sp == polled.wait_sp) == (start == "outer"))
        let sequence = probe.table.sequence(of: loop)
        try probe.next("looped")
        let later = try #require(probe.table.live.first)
        #expect(later.claim == loop.claim && later.changes == loop.changes)
        #expect(probe.table.sequence(of: later) == sequence + 2)
        try probe.expectEnd()
    }

    /// A start that waits for a child on an instance of its own (`execSync` of node), and a handler that does so.
    @Test(arguments: [("older", true), ("newer", false)])
    func `only an older instance than the loop's own is another loop's at once`(later: String, isLeft: Bool) throws {
        let probe = try WatchedProbe("other-instance", "epoll_wait", later)
        try probe.word("started")
        let first = try #require(probe.table.live.first)
        try probe.next("looped")
        #expect(probe.table.live.isEmpty == isLeft && probe.table.provisional.count == (isLeft ? 1 : 0))
        #expect(isLeft || probe.table.live.first?.claim == first.claim && probe.table.live.first?.inner_waits == 1)
        try probe.expectEnd()
    }
}
