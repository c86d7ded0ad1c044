import Foundation
internal import LagActivity
import TestSupport
import Testing

@testable import LagRunLoop

/// The two ways in which a timer does not keep its owner alive.
struct TimerOwnerTests {
    /// Owns its timer, like a view controller.
    private final class Owner: Sendable {
        let timer = Box<RunLoopTimer>()
        let ended: Counter
        let ticks: Counter
        init(_ ended: Counter, _ ticks: Counter) { (self.ended, self.ticks) = (ended, ticks) }
        deinit {
            timer.value?.invalidate()
            ended.add()
        }
        func tick() { ticks.add() }
    }

    @Test func `invalidating a timer releases the captures of its handler`() throws {
        try withThread { thread in
            let ended = Counter()
            let timer = {
                let tracked = Tracked(ended)
                return RunLoopTimer(after: .seconds(1_000), interval: .seconds(1)) { _ in tracked.touch() }
            }()
            thread.loop.add(timer, to: .default)
            #expect(ended.value == 0)
            timer.invalidate()
            #expect(ended.value == 1, "though the timer object is still held")
        }
    }

    @Test(arguments: ["weak capture", "owner"])
    func `the owner of a timer can be released while the timer runs`(_ way: String) throws {
        try withThread { thread in
            let ended = Counter()
            let ticks = Counter()
            let owner = Box<Owner>()
            owner.value = Owner(ended, ticks)
            let timer = try timer(of: #require(owner.value), way)
            owner.value?.timer.value = timer
            thread.loop.add(timer, to: .default)
            #expect(eventually { ticks.value >= 3 })
            #expect(ended.value == 0)
            owner.value = nil
            // A tick in progress may hold it for a moment.
            #expect(eventually { ended.value == 1 }, "the timer does not keep its owner")
            #expect(!timer.isValid, "and the owner ends its timer")
        }
    }

    private func timer(of owner: Owner, _ way: String) -> RunLoopTimer {
        if way == "owner" {
            RunLoopTimer(owner: owner, fireDate: .now, interval: .milliseconds(1)) { owner, _ in owner.tick() }
        } else {
            RunLoopTimer(after: .zero, interval: .milliseconds(1)) { [weak owner] _ in owner?.tick() }
        }
    }

    @Test func `a timer with an owner ends after its owner`() throws {
        try withThread { thread in
            let ended = Counter()
            let timer = {
                let owner = Tracked(ended)
                return RunLoopTimer(owner: owner, fireDate: .now, interval: .milliseconds(1)) { owner, _ in owner.touch() }
            }()
            #expect(ended.value == 1)
            thread.loop.add(timer, to: .default)
            #expect(eventually { !timer.isValid })
        }
    }
}
