internal import CLagBeacon
import Dispatch
internal import LagActivity
import Synchronization
import TestSupport
import Testing

@testable import LagDetection

struct PingRelayTests {
    /// A relay with its thread, until `body` returns.
    private func withRelay(_ body: (WatchRegistry, PingRelay) throws -> Void) throws {
        let registry = try #require(WatchRegistry())
        let relay = PingRelay(registry: registry)
        let ended = DispatchSemaphore(value: 0)
        DispatchQueue(label: "relay").async {
            relay.run()
            ended.signal()
        }
        defer {
            relay.stop()
            ended.wait()
        }
        try body(registry, relay)
    }

    private func pinged(_ registry: WatchRegistry, _ index: Int) -> UInt64 {
        registry.coldParts[index].pingedNanoseconds.load(ordering: .acquiring)
    }

    @Test func `a requested ping is sent and recorded`() throws {
        try withRelay { registry, relay in
            let owner = FakeOwner()
            let loops = (0..<5).map { _ in FakeLoop(pingsWithoutLocking: false) }
            let indices = loops.map { registry.add($0, name: "", owner: owner, rules: .standard)! }
            let before = clb_now_ns()
            for index in indices.dropLast() { relay.requestPing(index) }
            #expect(eventually { indices.dropLast().allSatisfy { pinged(registry, $0) >= before } })
            #expect(loops.map(\.pings) == [1, 1, 1, 1, 0])
            #expect(pinged(registry, indices[4]) == 0)
        }
    }

    /// If the time were taken before, the sending would count against the loop.
    @Test func `the time of a ping is taken after it was sent`() throws {
        final class PromptLoop: PingableLoop {
            let beacon = ActivityBeacon()
            let thread = ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0)
            let name = "prompt"
            func ping() { beacon.pong() }
        }
        let registry = try #require(WatchRegistry())
        let loop = PromptLoop()
        let index = try #require(registry.add(loop, name: "", owner: FakeOwner(), rules: .standard))
        registry.ping(index)
        #expect(pinged(registry, index) >= clb_beacon_pong_ns(loop.beacon.raw))
    }

    @Test func `an unknown loop or a loop that cannot be pinged gets no ping`() throws {
        try withRelay { registry, relay in
            let owner = FakeOwner()
            let deaf = registry.add(UnpingableLoop(), name: "", owner: owner, rules: .standard)!
            let loop = FakeLoop(pingsWithoutLocking: false)
            let last = registry.add(loop, name: "", owner: owner, rules: .standard)!
            relay.requestPing(deaf)
            relay.requestPing(4711)
            relay.requestPing(last)
            #expect(eventually { loop.pings == 1 })
            #expect(pinged(registry, deaf) == 0)
        }
    }

    @Test func `a relay that was stopped before it ran exits at once`() throws {
        let relay = PingRelay(registry: try #require(WatchRegistry()))
        relay.stop()
        relay.run()
    }
}
