internal import LagActivity
import Synchronization
import Testing

@testable import LagDetection

struct WatchRegistryPauseTests {
    private func state(_ registry: WatchRegistry, _ index: Int) -> Watch.State {
        registry.hotParts[index].state.load(ordering: .acquiring)
    }

    @Test func `only the specified loop is paused`() throws {
        let registry = try #require(WatchRegistry())
        let owners = [FakeOwner(), FakeOwner()]
        let loops = [FakeLoop(), FakeLoop()]
        let indices = owners.flatMap { owner in loops.map { registry.add($0, name: "", owner: owner, rules: .standard)! } }
        registry.setPaused(true, loops[0], of: owners[0], now: 1)
        #expect(indices.map { state(registry, $0) } == [.paused, .active, .active, .active])
        registry.setPaused(true, nil, of: owners[0], now: 1)
        #expect(indices.map { state(registry, $0) } == [.paused, .paused, .active, .active])
        registry.setPaused(false, loops[1], of: owners[0], now: 7)
        #expect(indices.map { state(registry, $0) } == [.paused, .resuming, .active, .active])
        #expect(registry.coldParts[indices[1]].resumedNanoseconds.load(ordering: .acquiring) == 7)
        #expect(registry.coldParts[indices[0]].resumedNanoseconds.load(ordering: .acquiring) == 0)
    }

    @Test func `resuming has no effect on a loop that is not paused`() throws {
        let registry = try #require(WatchRegistry())
        let (loop, owner) = (FakeLoop(), FakeOwner())
        let index = try #require(registry.add(loop, name: "", owner: owner, rules: .standard))
        registry.setPaused(false, nil, of: owner, now: 7)
        #expect(state(registry, index) == .active)
        #expect(registry.coldParts[index].resumedNanoseconds.load(ordering: .acquiring) == 0)
    }

    @Test func `a loop can be paused again before the watchdog has seen the resumption`() throws {
        let registry = try #require(WatchRegistry())
        let (loop, owner) = (FakeLoop(), FakeOwner())
        let index = try #require(registry.add(loop, name: "", owner: owner, rules: .standard))
        registry.setPaused(true, nil, of: owner, now: 1)
        registry.setPaused(false, nil, of: owner, now: 2)
        registry.setPaused(true, nil, of: owner, now: 3)
        #expect(state(registry, index) == .paused)
    }

    @Test(arguments: [false, true])
    func `a paused watch can end`(isResuming: Bool) throws {
        let registry = try #require(WatchRegistry())
        let (loop, owner) = (FakeLoop(), FakeOwner())
        let index = try #require(registry.add(loop, name: "", owner: owner, rules: .standard))
        registry.setPaused(true, nil, of: owner, now: 1)
        if isResuming { registry.setPaused(false, nil, of: owner, now: 2) }
        #expect(registry.end(loop, of: owner))
        #expect(state(registry, index) == .ending)
        // Neither reactivates it.
        registry.setPaused(true, nil, of: owner, now: 3)
        registry.setPaused(false, nil, of: owner, now: 4)
        #expect(state(registry, index) == .ending)
    }

    @Test func `tickers are cancelled with their watch`() throws {
        let registry = try #require(WatchRegistry())
        let (loop, owner) = (FakeLoop(), FakeOwner())
        let (ticker, second, cell) = (FakeTicker(), FakeTicker(), TickCell())
        let index = registry.add(loop, name: "", owner: owner, rules: .standard, ticks: cell, ticker: ticker)!
        // Already watched: the ticker is not needed.
        #expect(registry.add(loop, name: "", owner: owner, rules: .standard, ticker: second) == index)
        #expect(ticker.cancels == 0 && second.cancels == 1)
        #expect(registry.ticks(of: loop, by: owner) === cell)
        #expect(registry.ticks(of: loop, by: FakeOwner()) == nil)
        #expect(registry.end(loop, of: owner))
        #expect(registry.ticks(of: loop, by: owner) == nil)
        registry.hotParts[index].state.store(.retired, ordering: .releasing)
        registry.reap(registry.retired())
        #expect(ticker.cancels == 1)
    }

    @Test func `the startup grace begins with the watch`() throws {
        let registry = try #require(WatchRegistry())
        var rules = WatchRules.standard
        #expect(
            registry.coldParts[registry.add(FakeLoop(), name: "", owner: FakeOwner(), rules: rules, now: 70)!].detector
                .ignoreBefore == 0
        )
        rules.graceNanoseconds = 30
        #expect(
            registry.coldParts[registry.add(FakeLoop(), name: "", owner: FakeOwner(), rules: rules, now: 70)!].detector
                .ignoreBefore == 100
        )
    }
}
