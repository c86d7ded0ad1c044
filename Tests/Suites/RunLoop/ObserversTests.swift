internal import LagActivity
import LagRunLoop
import TestSupport
import Testing

/// Observers.
struct ObserversTests {
    /// One run of one turn in the default mode, without a sleep.
    private func oneTurn(_ loop: ObservedRunLoop) {
        let port = RunLoopPort()
        loop.add(port, to: .default)
        #expect(loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) == .timedOut)
        port.invalidate()
    }

    @Test func `an observer is called only for the activities in its mask`() throws {
        let log = Log<LoopActivity>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopObserver(activities: [.entry, .exit]) { _, activity in log.add(activity) }, to: .default)
            oneTurn(loop)
        }
        #expect(log.all == [.entry, .exit])
    }

    @Test func `observers of lower order are called first, and equal ones in the order of adding`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            for (name, order) in [("b1", 0), ("c", 5), ("a", -5), ("b2", 0)] {
                loop.add(RunLoopObserver(activities: .entry, order: order) { _, _ in log.add(name) }, to: .default)
            }
            oneTurn(loop)
        }
        #expect(log.all == ["a", "b1", "b2", "c"])
    }

    @Test func `a non-repeating observer is called once`() throws {
        let calls = Counter()
        let valid = Log<Bool>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let once = RunLoopObserver(activities: .beforeTimers, repeats: false) { observer, _ in
                calls.add()
                valid.add(observer.isValid)
            }
            loop.add(once, to: .default)
            oneTurn(loop)
            oneTurn(loop)
        }
        #expect(calls.value == 1)
        #expect(valid.all == [false], "it is invalid as soon as it is called")
    }

    @Test func `an observer that is removed inside a callback is no longer called`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let victim = RunLoopObserver(activities: .beforeTimers, order: 1) { _, _ in log.add("victim") }
            let remover = RunLoopObserver(activities: .beforeTimers) { observer, _ in
                log.add("remover")
                loop.remove(victim, from: .default)
                loop.remove(observer, from: .default)
            }
            loop.add(victim, to: .default)
            loop.add(remover, to: .default)
            oneTurn(loop)
            oneTurn(loop)
        }
        #expect(log.all == ["remover"])
    }

    @Test func `an observer that is added inside a callback is called from the next activity on`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let added = RunLoopObserver(order: -1) { _, activity in log.add("added: \(activity.name)") }
            let adder = RunLoopObserver(activities: .beforeTimers) { _, _ in
                log.add("adder")
                loop.add(added, to: .default)
            }
            loop.add(adder, to: .default)
            oneTurn(loop)
        }
        #expect(log.all == ["adder", "added: before_sources", "added: exit"])
    }

    @Test func `an observer is called only in its modes`() throws {
        let calls = Counter()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopObserver { _, _ in calls.add() }, to: .tracking)
            oneTurn(loop)
        }
        #expect(calls.value == 0)
    }

    @Test func `an observer is not called again from within itself`() throws {
        let deepest = Log<Int>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let depth = Counter()
            let port = RunLoopPort()
            loop.add(port, to: .default)
            let observer = RunLoopObserver(activities: .entry) { _, _ in
                deepest.add(depth.add())
                _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
                depth.add(-1)
            }
            loop.add(observer, to: .default)
            _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
        }
        #expect(deepest.all == [1])
    }

    @Test func `observers can be added and removed from another thread`() throws {
        try withThread { thread in
            let calls = Counter()
            let observer = RunLoopObserver(activities: .afterWaiting) { _, _ in calls.add() }
            thread.loop.add(observer, to: .common)
            #expect(
                eventually {
                    thread.loop.wakeUp()
                    return calls.value > 0
                }
            )
            observer.invalidate()
            try thread.performAndWait {}
            let calledUntilNow = calls.value
            for _ in 0..<10 { try thread.performAndWait {} }
            #expect(calls.value == calledUntilNow)
        }
    }
}
