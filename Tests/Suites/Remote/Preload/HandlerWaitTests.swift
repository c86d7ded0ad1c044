internal import CLagBeacon
internal import CLagRemote
internal import Foundation
internal import TestSupport
internal import Testing

@Suite("Which waits belong to a handler of the loop")
struct HandlerWaitTests {
    /// A compiler may put a handler into the loop's function.
    @Test func `another call of the loop's function for fewer descriptors is a handler's`() throws {
        let probe = try WatchedProbe("inlined")
        try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        let sequence = probe.table.sequence(of: loop)
        try probe.next("polled")
        #expect(probe.table.sequence(of: loop) == sequence)
        #expect(probe.table.activity(of: loop) == CLB_ACTIVITY_AFTER_WAITING)
        // The same call for fewer is the loop's: its clients have left.
        try probe.next("looped")
        #expect(probe.table.sequence(of: loop) == sequence + 2)
        try probe.expectEnd()
    }

    /// A worker that serves one connection after the other and does not wait while there are any (gunicorn's default).
    @Test(arguments: [("set select", 2), ("one poll", 2), ("epoll_wait", 0)])
    func `a poll loop that accepts the next connection without waiting begins an iteration`(call: String, turns: UInt64) throws {
        let probe = try WatchedProbe("accepts", call)
        try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        let beacon = probe.table.beacon(of: loop)
        var (sequences, begins) = ([probe.table.sequence(of: loop)], [clb_beacon_callout_ns(beacon)])
        for _ in 0..<3 {
            try probe.next("accepted")
            sequences.append(probe.table.sequence(of: loop))
            begins.append(clb_beacon_callout_ns(beacon))
            #expect(probe.table.activity(of: loop) == CLB_ACTIVITY_AFTER_WAITING)
        }
        // The wait was for the first connection. Each further connection counts as a wait and its end.
        #expect(sequences[1] == sequences[0] && begins[1] == begins[0])
        #expect(sequences[3] == sequences[0] + 2 * turns)
        #expect((begins[2] > begins[1] && begins[3] > begins[2]) == (turns > 0))
        try probe.expectEnd()
    }

    /// As in servers whose handlers have their own event loop. A nested loop that lasts is followed until it ends.
    @Test func `a wait while a connection is served belongs to a handler`() async throws {
        try await atOnce([
            ("one poll", 20, "inner"), ("set poll", 20, "inner"), ("set poll", 20, "outer"), ("set poll", 55, "inner"),
        ]) { try Self.expectService(call: $0, waits: $1, place: $2) }
    }

    private static func expectService(call: String, waits: Int, place: String) throws {
        let probe = try WatchedProbe("serves", call, "\(waits)", place)
        let changes: UInt64 = waits > 32 ? 1 : 0
        try probe.word("served")
        let loop = try #require(probe.table.live.first)
        #expect(probe.table.loops.count == 1 && loop.changes == changes)
        #expect((clr_loop_table_is_serving(probe.table.raw, probe.table.index(of: loop)) != 0) == (changes == 0))
        let sequence = probe.table.sequence(of: loop)
        try probe.next("looped")
        #expect(probe.table.live.first?.changes == 2 * changes)
        #expect(probe.table.sequence(of: loop) == sequence + 2)
        #expect(clr_loop_table_is_serving(probe.table.raw, probe.table.index(of: loop)) == 0)
        try probe.expectEnd()
    }

    /// As in preforking servers: a handler that waits for a child's output twice within a second looks like a loop's start.
    @Test(arguments: ["epoll_wait", "set poll"]) func `waits of a thread that rests in accept are a job's`(call: String) throws {
        let probe = try WatchedProbe("jobs", call, "20", "1")
        try probe.word("served")
        #expect(probe.table.loops.isEmpty)
        try probe.next("served")
        #expect(probe.table.loops.isEmpty)
        try probe.expectEnd()
    }

    /// Several processes that wait for one socket may get to accept at the same time.
    @Test func `a thread that polls the socket at which it blocks in accept has a loop`() throws {
        let probe = try WatchedProbe("serves-together")
        try probe.word("served")
        #expect(probe.table.live.count == 1)
        try probe.expectEnd()
    }

    /// A session of its own, such as a tunnel.
    @Test func `a job that waits often and for long is a loop until the thread accepts again`() throws {
        let probe = try WatchedProbe("jobs", "epoll_wait", "64", "100")
        try probe.word("served")
        let first = probe.table.index(of: try #require(probe.table.live.first))
        try probe.next("served")
        let second = probe.table.index(of: try #require(probe.table.live.first))
        #expect(second != first && probe.table.live.count == 1)
        #expect(probe.table.loops.count(where: \.isWithdrawn) == 1)
        try probe.expectEnd()
    }

    @Test(arguments: ["epoll_wait", "set poll"]) func `a loop that blocks in accept stays a loop, and is at work`(call: String)
        throws
    {
        let probe = try WatchedProbe("blocks-in-accept", call)
        try probe.word("accepted")
        let loop = try #require(probe.table.live.first)
        #expect(probe.table.activity(of: loop) == CLB_ACTIVITY_AFTER_WAITING)
        let sequence = probe.table.sequence(of: loop)
        try probe.next("looped")
        #expect(probe.table.loops.count == 1 && probe.table.sequence(of: loop) == sequence + 4)
        try probe.expectEnd()
    }

    @Test func `a connection accepted outside the loop does not mark the loop as serving`() throws {
        let probe = try WatchedProbe("accepts-elsewhere", "set poll")
        try probe.word("accepted")
        let loop = try #require(probe.table.live.first)
        #expect(clr_loop_table_is_serving(probe.table.raw, probe.table.index(of: loop)) == 0)
        try probe.expectEnd()
    }

    /// As in a Qt program to which a client connects during startup: it polls without waiting at first.
    @Test func `a connection accepted before the first wait does not mark the loop as serving`() throws {
        let probe = try WatchedProbe("accepts-early")
        try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        #expect(clr_loop_table_is_serving(probe.table.raw, probe.table.index(of: loop)) == 0)
        try probe.expectEnd()
    }

    @Test(arguments: ["poll", "set poll"]) func `a wait within a handler does not count as a wait of the loop`(call: String)
        throws
    {
        let probe = try WatchedProbe("nested", call)
        try probe.word("nested")
        let loop = try #require(probe.table.live.first)
        let sequence = probe.table.sequence(of: loop)
        #expect(eventually { probe.table.live.first?.inner_waits == 1 })
        // It now sleeps in poll(2), but is still at work.
        #expect(probe.table.activity(of: loop) == CLB_ACTIVITY_AFTER_WAITING)
        try probe.next("back")
        #expect(probe.table.sequence(of: loop) == sequence)
        try probe.next("again")
        // Twelve waits elsewhere did not count; the next one at the loop's location counts again.
        #expect(probe.table.sequence(of: loop) == sequence + 2)
        #expect(probe.table.live.first?.inner_waits == 13)
        try probe.expectEnd()
    }

    /// An instance only if the loop has lasted longer than a start (``StartTests``): 12 waits of 500 ms.
    @Test func `a loop that continues further out in the stack is followed`() async throws {
        try await atOnce([
            ("poll", "poll", 1), ("one poll", "set poll", 1), ("one poll", "epoll_wait", 500), ("set poll", "epoll_wait", 500),
        ]) { try Self.expectFurtherOut(start: $0, later: $1, milliseconds: $2) }
    }

    private static func expectFurtherOut(start: String, later: String, milliseconds: Int) throws {
        let first = later == "epoll_wait" ? "4" : "1"
        let probe = try WatchedProbe("other-loop", start, later, first, "\(milliseconds)")
        try probe.word("started")
        let deeper = try #require(probe.table.live.first)
        let sequence = probe.table.sequence(of: deeper)
        try probe.next("looped")
        let second = try #require(probe.table.live.first)
        #expect(second.claim == deeper.claim && second.wait_sp > deeper.wait_sp && second.changes == 1)
        // At once, or at the fourth wait on an instance.
        let inner: UInt64 = later == "epoll_wait" ? 3 : 0
        #expect(second.inner_waits == inner)
        #expect(probe.table.sequence(of: second) == sequence + 2)
        try probe.next("looped")
        #expect(probe.table.live.first?.changes == 1)
        #expect(probe.table.sequence(of: second) == sequence + 2 * (55 - inner))
        try probe.expectEnd()
    }

    @Test func `a nested loop in a handler gives way to the outer loop at once`() throws {
        let probe = try WatchedProbe("inner-loop", "poll")
        try probe.word("started")
        let outer = try #require(probe.table.live.first)
        try probe.next("inner")
        let inner = try #require(probe.table.live.first)
        #expect(inner.changes == 1 && inner.wait_sp < outer.wait_sp)
        let sequence = probe.table.sequence(of: inner)
        try probe.next("outer")
        let back = try #require(probe.table.live.first)
        #expect(back.changes == 2 && back.wait_sp == outer.wait_sp)
        #expect(probe.table.sequence(of: back) == sequence + 24)
        try probe.expectEnd()
    }
}
