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
        try probe.expectEnd()
    }

    @Test func `the eighth wait confirms the loop`() throws {
        let probe = try WatchedProbe("seven")
        try probe.word("looped")
        #expect(probe.table.live.isEmpty)
        try probe.next("looped")
        #expect(probe.table.live.count == 1)
        try probe.expectEnd()
    }

    @Test(arguments: [
        ("few", "epoll_wait", 2), ("few", "one poll", 2), ("few", "set poll", 2), ("few-thread", "epoll_wait", 2),
        ("few-thread", "set poll", 4),
    ])
    func `a few waits are a loop half a second after the first one`(name: String, call: String, waits: Int) throws {
        for count in [waits - 1, waits] {
            let probe = try WatchedProbe(name, call, "\(count)")
            try probe.word("looped")
            #expect(probe.table.loops.count == 1 && probe.table.live.count == (count < waits ? 0 : 1), "\(count)")
            try probe.expectEnd()
        }
    }

    @Test func `a few waits of another thread for one descriptor are not a loop`() throws {
        let probe = try WatchedProbe("few-thread", "one poll", "7")
        try probe.word("looped")
        #expect(probe.table.loops.isEmpty)
        try probe.expectEnd()
    }

    @Test func `a loop ends when its program exits`() throws {
        let probe = try WatchedProbe("seven", "set poll")
        try probe.word("looped")
        try probe.next("looped")
        #expect(probe.table.live.count == 1)
        try probe.expectEnd()
        let loop = try #require(probe.table.loops.first)
        #expect(loop.isEnded && probe.table.activity(of: loop) == CLB_ACTIVITY_FINISHED)
    }

    @Test(arguments: ["_exit", "_Exit", "quick_exit"])
    func `a loop ends when its process exits without exit handlers`(call: String) throws {
        let probe = try WatchedProbe("quits", "set poll", call)
        try probe.word("looped")
        // Its child has exited in the same way before, with the same memory.
        #expect(probe.table.live.count == 1)
        try probe.expectEnd()
        let loop = try #require(probe.table.loops.first)
        #expect(loop.isEnded && probe.table.activity(of: loop) == CLB_ACTIVITY_FINISHED)
    }

    /// A thread that sleeps further out than its last wait has left the function that waits.
    @Test func `the stack position of the last wait on an epoll instance is published`() throws {
        let probe = try WatchedProbe("wanders")
        try probe.word("looped")
        let deep = try #require(probe.table.live.first)
        try probe.next("looped")
        let loop = try #require(probe.table.live.first)
        #expect(loop.wait_sp >= deep.wait_sp + 4096 && loop.changes == 0)
        try probe.expectEnd()
    }

    @Test(arguments: ["thrice", "elsewhere"])
    func `a thread that does not loop gets no slot`(case name: String) throws {
        let probe = try WatchedProbe(name, "poll")
        try probe.word(name == "thrice" ? "thrice" : "looped")
        #expect(probe.table.loops.isEmpty)
        try probe.expectEnd()
    }

    @Test func `polls without waiting do not make a loop, but count as waits of an existing loop`() throws {
        let probe = try WatchedProbe("looks")
        try probe.word("looped")
        #expect(probe.table.loops.isEmpty)
        try probe.next("looped")
        let loop = try #require(probe.table.live.first)
        let before = probe.table.sequence(of: loop)
        try probe.next("looped")
        #expect(probe.table.sequence(of: loop) == before + 10)
        try probe.expectEnd()
    }

    // libuv with pending immediates, as in node's HTTP server: it really waits only when idle, otherwise it polls with timeout 0.
    @Test func `polls at the location of a real wait count as waits`() throws {
        let probe = try WatchedProbe("seldom")
        try probe.word("looped")
        #expect(probe.table.live.isEmpty)
        try probe.next("looped")
        #expect(probe.table.live.count == 1)
        try probe.expectEnd()
    }

    @Test func `an epoll instance is one loop at whatever location a thread waits on it`() throws {
        let probe = try WatchedProbe("elsewhere", "epoll_wait")
        try probe.word("looped")
        let loop = try #require(probe.table.live.first)
        // 49 waits, each at another location; each counts as a wait and its end.
        #expect(loop.changes == 0 && loop.inner_waits == 0 && probe.table.sequence(of: loop) == 99)
        try probe.expectEnd()
    }
}
