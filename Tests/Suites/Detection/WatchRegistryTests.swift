import Dispatch
internal import LagActivity
import Synchronization
import Testing

@testable import LagDetection

struct WatchRegistryTests {
    /// Does what the watchdog does with ending watches.
    private func retire(_ registry: WatchRegistry) {
        for index in 0..<registry.count where registry.hotParts[index].state.load(ordering: .acquiring) == .ending {
            registry.hotParts[index].state.store(.retired, ordering: .releasing)
        }
    }

    @Test func `a watch can be added and ended`() throws {
        let registry = try #require(WatchRegistry())
        let (loop, owner) = (FakeLoop(name: "one"), FakeOwner())
        let index = try #require(registry.add(loop, name: "name", owner: owner, rules: .standard))
        #expect(registry.registration(at: index)?.name == "name")
        #expect(registry.owners().count == 1)
        #expect(registry.end(loop, of: owner))
        #expect(!registry.end(loop, of: owner))
        #expect(registry.retired().isEmpty)
        retire(registry)
        #expect(registry.retired() == [index])
        #expect(registry.holds(anythingOf: owner))
        registry.reap(registry.retired())
        #expect(!registry.holds(anythingOf: owner))
        #expect(registry.registration(at: index) == nil)
        #expect(registry.owners().isEmpty)
    }

    @Test func `watching a loop twice creates one watch`() throws {
        let registry = try #require(WatchRegistry())
        let (loop, owner) = (FakeLoop(), FakeOwner())
        let first = registry.add(loop, name: "a", owner: owner, rules: .standard)
        #expect(registry.add(loop, name: "b", owner: owner, rules: .standard) == first)
        #expect(registry.add(loop, name: "c", owner: FakeOwner(), rules: .standard) != first)
        #expect(registry.count == 2)
    }

    @Test func `a loop can be watched again before its last watch is cleared`() throws {
        let registry = try #require(WatchRegistry())
        let (loop, owner) = (FakeLoop(), FakeOwner())
        let first = try #require(registry.add(loop, name: "a", owner: owner, rules: .standard))
        #expect(registry.end(loop, of: owner))
        let second = try #require(registry.add(loop, name: "a", owner: owner, rules: .standard))
        #expect(second != first)
        retire(registry)
        registry.reap(registry.retired())
        #expect(registry.registration(at: second) != nil)
        #expect(registry.end(loop, of: owner))
    }

    @Test func `only the watches of the given owner end`() throws {
        let registry = try #require(WatchRegistry())
        let (one, two) = (FakeOwner(), FakeOwner())
        let loops = (0..<4).map { _ in FakeLoop() }
        for (number, loop) in loops.enumerated() {
            _ = registry.add(loop, name: "", owner: number < 3 ? one : two, rules: .standard)
        }
        #expect(registry.endAll(of: one) == 3)
        #expect(registry.endAll(of: one) == 0)
        retire(registry)
        registry.reap(registry.retired())
        #expect(!registry.holds(anythingOf: one))
        #expect(registry.holds(anythingOf: two))
    }

    @Test func `a reaped loop is released, and its counts are kept`() throws {
        let registry = try #require(WatchRegistry())
        let owner = FakeOwner()
        weak var released: FakeLoop?
        do {
            let loop = FakeLoop()
            released = loop
            let index = try #require(registry.add(loop, name: "", owner: owner, rules: .standard))
            registry.coldParts[index].stalls.add(3, ordering: .relaxed)
            registry.coldParts[index].dropped.add(2, ordering: .relaxed)
            registry.coldParts[index].suppressed.add(1, ordering: .relaxed)
        }
        let all = WatchCounters(stalls: 3, dropped: 2, suppressed: 1)
        #expect(registry.counters(of: owner) == all)
        #expect(released != nil)
        #expect(registry.endAll(of: owner) == 1)
        retire(registry)
        registry.reap(registry.retired())
        #expect(released == nil)
        #expect(owner.absorbed == all)
        #expect(registry.counters(of: owner) == all)
    }

    @Test func `a reused place starts empty`() throws {
        let registry = try #require(WatchRegistry())
        let owner = FakeOwner()
        let first = try #require(registry.add(FakeLoop(), name: "old", owner: owner, rules: .standard))
        registry.coldParts[first].stalls.add(3, ordering: .relaxed)
        registry.coldParts[first].condition = .stalled(StallRecording(sinceNanoseconds: 1, activity: .beforeSources, episode: 7))
        _ = registry.endAll(of: owner)
        retire(registry)
        registry.reap(registry.retired())
        let second = try #require(registry.add(FakeLoop(), name: "new", owner: owner, rules: .standard))
        #expect(second == first)
        #expect(registry.count == 1)
        #expect(registry.coldParts[second].counters == WatchCounters())
        #expect(registry.coldParts[second].recording == nil)
        #expect(registry.hotParts[second].lastWord == .max)
    }

    @Test func `a full registry accepts another watch when one is gone`() throws {
        let registry = try #require(WatchRegistry())
        let owner = FakeOwner()
        let loops = (0..<WatchRegistry.capacity).map { _ in FakeLoop() }
        for loop in loops { #expect(registry.add(loop, name: "", owner: owner, rules: .standard) != nil) }
        let more = FakeLoop()
        #expect(registry.add(more, name: "", owner: owner, rules: .standard) == nil)
        #expect(registry.end(loops[77], of: owner))
        #expect(registry.add(more, name: "", owner: owner, rules: .standard) == nil)
        retire(registry)
        registry.reap(registry.retired())
        #expect(registry.add(more, name: "", owner: owner, rules: .standard) == 77)
    }

    @Test func `concurrent additions and removals lose no watch`() async throws {
        let registry = try #require(WatchRegistry())
        final class Shared: Sendable { let done = Atomic<Int>(0) }
        let shared = Shared()
        let owners = (0..<4).map { _ in FakeOwner() }
        let rounds = 2000
        for owner in owners {
            DispatchQueue(label: "adder").async {
                for _ in 0..<rounds {
                    let loop = FakeLoop()
                    _ = registry.add(loop, name: "", owner: owner, rules: .standard)
                    _ = registry.end(loop, of: owner)
                }
                shared.done.add(1, ordering: .releasing)
            }
        }
        // The watchdog and the reporter at once: each watch counts as one stall when it is retired.
        let retired = await EpisodeQueueTests.onThread {
            var retired = 0
            while true {
                let last = shared.done.load(ordering: .acquiring) == owners.count
                for index in 0..<registry.count where registry.hotParts[index].state.load(ordering: .acquiring) == .ending {
                    registry.coldParts[index].stalls.add(1, ordering: .relaxed)
                    registry.hotParts[index].state.store(.retired, ordering: .releasing)
                    retired += 1
                }
                registry.reap(registry.retired())
                if last { return retired }
            }
        }
        #expect(retired == owners.count * rounds)
        for owner in owners {
            #expect(owner.absorbed.stalls == UInt64(rounds))
            #expect(!registry.holds(anythingOf: owner))
        }
    }
}
