import Foundation
internal import LagActivity
import TestSupport
import Testing

@testable import LagRunLoop

/// Timers of the loop.
struct TimersTests {
    /// Each fire must leave the handler unchanged: one that grew with every fire crashed the program after some thousand fires.
    @Test func `a timer can fire very often`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let fires = Counter()
            let timer = RunLoopTimer(after: .zero, interval: .nanoseconds(1)) { timer in
                if fires.add() == 20_000 { timer.invalidate() }
            }
            loop.add(timer, to: .default)
            #expect(loop.run(in: .default, for: .seconds(60), returnAfterSourceHandled: false) == .finished)
            #expect(fires.value == 20_000)
        }
    }

    @Test(arguments: [
        // The point 12.95 is served, the loop is busy until 24.10; the grid continues at 24.95.
        (served: 12_950, interval: 1_000, now: 24_100, next: 24_950),
        (served: 24_950, interval: 1_000, now: 24_951, next: 25_950),
        (served: 1_000, interval: 1_000, now: 1_000, next: 2_000),
        (served: 1_000, interval: 1_000, now: 1_999, next: 2_000),
        (served: 1_000, interval: 1_000, now: 2_000, next: 3_000),
        // Served before its time (a date set by the program): still the next point.
        (served: 1_000, interval: 1_000, now: 500, next: 2_000),
    ])
    func `missed points are skipped and the grid is kept`(_ given: (served: UInt64, interval: UInt64, now: UInt64, next: UInt64))
    {
        #expect(TimerGrid.next(afterServing: given.served, interval: given.interval, now: given.now) == given.next)
    }

    @Test func `a grid point beyond the clock never fires`() {
        #expect(TimerGrid.next(afterServing: .max - 5, interval: 10, now: .max - 5) == .max)
        #expect(TimerGrid.next(afterServing: 0, interval: .max, now: 5) == .max)
    }

    /// The same with a real loop, scaled down: every 20 ms, and a callback that keeps the loop busy for 70 ms.
    @Test func `a busy loop skips points, and later ones stay on the grid`() throws {
        let interval: UInt64 = 20_000_000
        let fired = Log<UInt64>()
        let start = MonotonicTime.now + .milliseconds(20)
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let timer = RunLoopTimer(fireDate: start, interval: .milliseconds(20)) { timer in
                fired.add(MonotonicTime.now.nanoseconds)
                #expect(timer.fireDate <= .now, "not early")
                if fired.count == 2 { usleep(70_000) }
                if fired.count == 5 { timer.invalidate() }
            }
            loop.add(timer, to: .default)
            #expect(loop.runBriefly() == .finished)
        }
        let points = fired.all.map { ($0 - start.nanoseconds) / interval }
        try #require(points.count == 5)
        #expect(points == points.sorted() && Set(points).count == 5, "each point at most once: \(points)")
        #expect(points[2] >= points[1] + 3, "the points of the busy time are not made up: \(points)")
    }

    @Test func `fire dates stay on the grid, whatever the delay`() throws {
        let start = MonotonicTime.now + .milliseconds(5)
        let dates = Log<UInt64>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let timer = RunLoopTimer(fireDate: start, interval: .milliseconds(5)) { timer in
                dates.add(timer.fireDate.nanoseconds)
                usleep(7_000)
                if dates.count == 4 { timer.invalidate() }
            }
            loop.add(timer, to: .default)
            #expect(loop.runBriefly() == .finished)
        }
        #expect(dates.count == 4)
        #expect(dates.all.allSatisfy { ($0 - start.nanoseconds) % 5_000_000 == 0 })
    }

    @Test func `timers fire in the order of their dates`() throws {
        let log = Log<Int>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let now = MonotonicTime.now
            for milliseconds in [30, 10, 20, 0] {
                let timer = RunLoopTimer(fireDate: now + .milliseconds(milliseconds)) { _ in log.add(milliseconds) }
                loop.add(timer, to: .default)
            }
            usleep(40_000)
            #expect(loop.runBriefly() == .finished)
        }
        #expect(log.all == [0, 10, 20, 30])
    }

    @Test func `a one-shot timer is invalid after its call`() throws {
        let calls = Counter()
        let timer = RunLoopTimer(after: .zero) { _ in calls.add() }
        try onFreshThread {
            ObservedRunLoop.current.add(timer, to: .default)
            #expect(ObservedRunLoop.current.runBriefly() == .finished)
        }
        #expect(calls.value == 1)
        #expect(!timer.isValid)
        #expect(timer.fireDate == .distantFuture)
    }

    @Test func `the fire date can be set from another thread and from the handler`() throws {
        try withThread { thread in
            let calls = Counter()
            let timer = RunLoopTimer(after: .seconds(1_000), interval: .seconds(1_000)) { timer in
                if calls.add() < 3 { timer.fireDate = .now }
            }
            thread.loop.add(timer, to: .default)
            #expect(eventually { thread.loop.isWaiting })
            #expect(calls.value == 0)
            timer.fireDate = .now
            #expect(eventually { calls.value == 3 })
            // It is set after the handler.
            #expect(eventually { timer.fireDate - .now > .seconds(900) }, "then the grid goes on from the date that was set")
            #expect(calls.value == 3)
            timer.invalidate()
        }
    }

    @Test func `tolerance lets timers share a wake, but never makes them fire early`() throws {
        let log = Log<String>()
        let early = Counter()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let now = MonotonicTime.now
            let wakes = RunLoopObserver(activities: .afterWaiting) { _, _ in log.add("wake") }
            loop.add(wakes, to: .default)
            let tolerant = RunLoopTimer(fireDate: now + .milliseconds(50), tolerance: .seconds(10)) { timer in
                if .now < timer.fireDate { early.add() }
                log.add("tolerant")
            }
            #expect(tolerant.tolerance == .seconds(10))
            loop.add(tolerant, to: .default)
            loop.add(RunLoopTimer(fireDate: now + .milliseconds(400)) { _ in log.add("exact") }, to: .default)
            #expect(loop.runBriefly() == .finished)
        }
        #expect(log.all == ["wake", "tolerant", "exact"])
        #expect(early.value == 0)
    }

    @Test func `a timer does not fire again from within itself`() throws {
        let calls = Counter()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let port = RunLoopPort()
            loop.add(port, to: .default)
            let timer = RunLoopTimer(after: .zero, interval: .milliseconds(1)) { timer in
                calls.add()
                #expect(loop.run(in: .default, for: .milliseconds(20), returnAfterSourceHandled: false) == .timedOut)
                timer.invalidate()
                port.invalidate()
            }
            loop.add(timer, to: .default)
            #expect(loop.runBriefly() == .finished)
        }
        #expect(calls.value == 1)
    }

    @Test func `timers do not count as handled sources`() throws {
        let result = try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopTimer(after: .zero) { _ in }, to: .default)
            return loop.runBriefly(once: true)
        }
        #expect(result == .finished)
    }
}
