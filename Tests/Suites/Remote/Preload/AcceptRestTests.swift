internal import CLagBeacon
internal import CLagRemote
internal import Foundation
internal import TestSupport
internal import Testing

@Suite("Loops of threads that block in accept")
struct AcceptRestTests {
    /// The loop's claim does not change, and its work goes on. (A loop on poll that accepts twice without a wait has iterated:
    /// `turns`.)
    private func expectWork(
        _ probe: WatchedProbe,
        until word: String,
        turns: UInt64 = 0,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let loop = try #require(probe.table.live.first, sourceLocation: location)
        let sequence = probe.table.sequence(of: loop)
        try probe.next(word)
        #expect(probe.table.live.map(\.claim) == [loop.claim], sourceLocation: location)
        #expect(probe.table.activity(of: loop) == CLB_ACTIVITY_AFTER_WAITING, sourceLocation: location)
        #expect(probe.table.sequence(of: loop) == sequence + 2 * turns, sourceLocation: location)
    }

    @Test(arguments: ["epoll_wait", "set poll"]) func `a call of accept without a socket is no rest`(call: String) throws {
        let probe = try WatchedProbe("rests", call, "nowhere")
        try probe.word("looped")
        try expectWork(probe, until: "accepted")
        try probe.expectEnd()
    }

    /// The first of its later calls counts as an iteration.
    @Test(arguments: ["epoll_wait", "set poll"]) func `a loop may begin after a wait for its first client`(call: String) throws {
        let probe = try WatchedProbe("rests", call, "first-client")
        try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        try probe.next("accepted")
        #expect(probe.table.live.map(\.claim) == [loop.claim] && probe.table.loops.count == 1)
        #expect(probe.table.activity(of: loop) == CLB_ACTIVITY_AFTER_WAITING)
        try expectWork(probe, until: "accepted", turns: call == "set poll" ? 1 : 0)
        try probe.expectEnd()
    }

    @Test(arguments: ["epoll_wait", "set poll"]) func `the first job may not have waited for its client`(call: String) throws {
        let probe = try WatchedProbe("rests", call, "first-job")
        try probe.word("looped")
        #expect(probe.table.loops.isEmpty)
        try probe.next("accepted")
        #expect(probe.table.loops.isEmpty)
        try probe.expectEnd()
    }

    @Test(arguments: ["epoll_wait", "set poll"]) func `a candidate whose handler blocks in accept becomes a loop`(call: String)
        throws
    {
        let probe = try WatchedProbe("rests", call, "candidate")
        try probe.word("looped")
        #expect(probe.table.loops.count == 1)
        try expectWork(probe, until: "accepted", turns: call == "set poll" ? 1 : 0)
        try probe.expectEnd()
    }

    @Test func `a young loop stays one while a handler on an instance blocks in accept`() throws {
        let probe = try WatchedProbe("rests", "set poll", "undecided")
        try probe.word("looped")
        #expect(probe.table.live.count == 1)
        try probe.next("accepted")
        try probe.expectEnd()
    }

    @Test(arguments: ["epoll_wait", "set poll"], ["two-clients", "no-client"])
    func `no thread rests at a socket that does not block`(call: String, how: String) throws {
        let probe = try WatchedProbe("rests", call, how)
        try probe.word("looped")
        try expectWork(probe, until: "accepted")
        try probe.expectEnd()
    }

    /// Its jobs look like a loop then.
    @Test(arguments: ["epoll_wait", "set poll"]) func `a thread under full load has jobs again once it rests`(call: String) throws
    {
        let probe = try WatchedProbe("rests", call, "full-load")
        try probe.word("looped")
        #expect(probe.table.live.count == 1)
        try probe.next("accepted")
        #expect(probe.table.live.count == 1)
        try probe.next("accepted")
        #expect(probe.table.live.isEmpty && probe.table.loops.count(where: \.isWithdrawn) == 1)
        try probe.expectEnd()
    }
}
