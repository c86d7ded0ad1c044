internal import LagActivity
import TestSupport
import Testing

@testable import LagRunLoop

/// Many timers: no cost grows with the square of their number.
struct TimerScaleTests {
    /// Four times as many timers take sixteen times as long if the cost is quadratic, and slightly more than four times if it is
    /// not.
    private static let mostForFourTimes = 9.0

    @Test func `the cost of a timer due in one turn does not grow with their number`() throws {
        @Sendable func cost(_ count: Int) -> Double {
            costOf {
                let loop = ObservedRunLoop.current
                let fired = Counter()
                for _ in 0..<count { loop.add(RunLoopTimer(fireDate: .now) { _ in fired.add() }, to: .default) }
                #expect(loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) == .timedOut)
                #expect(fired.value == count)
            }
        }
        let ratio = try onFreshThread { cost(12_000) / cost(3_000) }
        #expect(ratio < Self.mostForFourTimes)
    }

    @Test func `the cost of delayed work due in one turn does not grow with its amount`() throws {
        @Sendable func cost(_ count: Int) -> Double {
            costOf {
                let loop = ObservedRunLoop.current
                let done = Counter()
                for _ in 0..<count { loop.perform(after: .zero) { done.add() } }
                #expect(loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) == .timedOut)
                #expect(done.value == count)
            }
        }
        let ratio = try onFreshThread { cost(12_000) / cost(3_000) }
        #expect(ratio < Self.mostForFourTimes)
    }

    /// Sixty-four times as many timers: a linear step takes sixty-four times as long, a logarithmic one less than twice as long.
    /// Cache misses cost more than a step, so the limit is generous.
    @Test func `adding, setting and invalidating one of many timers costs hardly more than one of few`() throws {
        @Sendable func cost(among count: Int) -> Double {
            let loop = ObservedRunLoop.current
            let start = MonotonicTime.now + .seconds(1_000)
            func timer(_ number: Int) -> RunLoopTimer {
                RunLoopTimer(fireDate: start + .milliseconds(number * 7919 % count)) { _ in }
            }
            var timers = (0..<count).map(timer)
            for timer in timers { loop.add(timer, to: .default) }
            defer { for timer in timers { timer.invalidate() } }
            let cost = costOf {
                for number in 0..<500 {
                    let place = number * 7919 % count
                    timers[place].invalidate()
                    timers[place] = timer(number)
                    loop.add(timers[place], to: .default)
                    timers[place].fireDate = start + .milliseconds((number + 1) * 7919 % count)
                }
            }
            return cost
        }
        let ratio = try onFreshThread { cost(among: 32_000) / cost(among: 500) }
        #expect(ratio < 16)
    }

    @Test func `timers with the same date fire in the order they were added`() throws {
        let log = Log<Int>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let date = MonotonicTime.now
            for number in 0..<1_000 { loop.add(RunLoopTimer(fireDate: date) { _ in log.add(number) }, to: .default) }
            #expect(loop.runBriefly() == .finished)
        }
        #expect(log.all == Array(0..<1_000))
    }

    @Test func `overdue work runs in the order of submission`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.perform(after: .milliseconds(-1)) { log.add("first") }
            loop.perform(after: .milliseconds(-50)) { log.add("second") }
            loop.perform(after: .seconds(Int64.min)) { log.add("third") }
            loop.perform(after: .zero) { log.add("fourth") }
            #expect(loop.runBriefly() == .finished)
        }
        #expect(log.all == ["first", "second", "third", "fourth"])
    }

    @Test func `a timer set to the past while timers fire waits for the next turn`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let past = MonotonicTime(nanoseconds: 1)
            let timer = RunLoopTimer(fireDate: past, interval: .seconds(1_000)) { timer in
                log.add("again")
                timer.fireDate = MonotonicTime(nanoseconds: 2 + UInt64(log.count))
                loop.add(RunLoopTimer(fireDate: past) { _ in log.add("new") }, to: .default)
            }
            loop.add(timer, to: .default)
            for _ in 0..<2 {
                #expect(loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) == .timedOut)
                log.add("-")
            }
            timer.invalidate()
        }
        #expect(log.all.prefix(2) == ["again", "-"])
        #expect(log.all.count { $0 == "again" } == 2 && log.all.count { $0 == "new" } == 1)
    }

    @Test func `a timer in several modes fires once per date, in any of them`() throws {
        let fires = Counter()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let mode = RunLoopMode("scale.timers")
            let timer = RunLoopTimer(fireDate: .now, interval: .seconds(1_000)) { _ in fires.add() }
            for each in [mode, .default, .common] { loop.add(timer, to: each) }
            #expect(loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) == .timedOut)
            #expect(loop.run(in: mode, for: .zero, returnAfterSourceHandled: false) == .timedOut)
            #expect(fires.value == 1, "a timer fires once, whatever the number of its modes")
            timer.fireDate = .now
            #expect(loop.run(in: mode, for: .zero, returnAfterSourceHandled: false) == .timedOut)
            #expect(fires.value == 2)
            loop.remove(timer, from: mode)
            #expect(loop.run(in: mode, for: .zero, returnAfterSourceHandled: false) == .finished, "nothing in it any more")
            // It is still among the common items, so it is added to a mode that becomes common.
            loop.addCommonMode(mode)
            timer.fireDate = .now
            #expect(loop.run(in: mode, for: .zero, returnAfterSourceHandled: false) == .timedOut)
            #expect(fires.value == 3)
            loop.remove(timer, from: .common)
            #expect(loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) == .finished)
            #expect(timer.isValid && timer.attachment.loop == nil)
        }
    }

    @Test func `a date set from another thread wakes a loop that sleeps until a later one`() throws {
        try withThread { thread in
            let fired = Counter()
            let timers = (1...50).map { number in RunLoopTimer(after: .seconds(1_000 + number)) { _ in fired.add() } }
            for timer in timers { thread.loop.add(timer, to: .default) }
            #expect(eventually { thread.loop.isWaiting })
            for timer in timers.reversed() { timer.fireDate = .now }
            #expect(eventually { fired.value == 50 })
        }
    }

    @Test func `invalidating the last timer ends a run that waits for it`() throws {
        let timer = RunLoopTimer(after: .seconds(1_000)) { _ in }
        let loop = Box<ObservedRunLoop>()
        let result = Box<RunLoopResult>()
        try ObservedRunLoop.performInBackground {
            ObservedRunLoop.current.add(timer, to: .default)
            loop.value = .current
            result.value = ObservedRunLoop.current.runBriefly()
        }
        #expect(eventually { loop.value?.isWaiting == true })
        timer.invalidate()
        #expect(eventually { result.value != nil })
        #expect(result.value == .finished)
    }
}

/// The heap compared with a sorted list, with random changes.
struct TimerTableTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func `the table fires the same timers as a sorted list`(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var table = TimerTable()
        var expected: [(due: UInt64, sequence: Int, timer: RunLoopTimer)] = []
        var sequence = 0
        for clock in stride(from: UInt64(1_000), to: 60_000, by: 100) {
            for _ in 0..<Int.random(in: 0...8, using: &random) {
                sequence += 1
                let due = clock + UInt64.random(in: 1...30, using: &random) * 50
                switch Int.random(in: 0..<4, using: &random) {
                case 0 where !expected.isEmpty:
                    let place = Int.random(in: 0..<expected.count, using: &random)
                    _ = table.remove(expected.remove(at: place).timer)
                case 1 where !expected.isEmpty:
                    let place = Int.random(in: 0..<expected.count, using: &random)
                    let timer = expected[place].timer
                    timer.fireDate = MonotonicTime(nanoseconds: due)
                    _ = table.update(timer)
                    expected[place] = (due, sequence, timer)
                default:
                    let timer = RunLoopTimer(fireDate: MonotonicTime(nanoseconds: due)) { _ in }
                    let modes: [RunLoopMode] = [[.default], [.common], [.default, .tracking]].randomElement(using: &random)!
                    for mode in modes { _ = table.add(timer, to: mode, common: [.default]) }
                    expected.append((due, sequence, timer))
                }
            }
            expected.sort { ($0.due, $0.sequence) < ($1.due, $1.sequence) }
            #expect(table.plan(for: .default).nextFire == expected.first?.due ?? .max)
            while let next = expected.first, next.due <= clock {
                let fired = table.beginFiring(in: .default, at: clock)
                #expect(fired?.timer === next.timer)
                _ = table.remove(next.timer)
                expected.removeFirst()
            }
            #expect(table.beginFiring(in: .default, at: clock)?.timer == nil)
        }
        #expect(table.removeAll().count == expected.count)
    }

    /// Between the choice of a due timer and the call of its handler.
    @Test func `a date that another thread sets right before a timer fires is kept`() throws {
        var table = TimerTable()
        let timer = RunLoopTimer(fireDate: MonotonicTime(nanoseconds: 10), interval: .nanoseconds(60)) { _ in }
        _ = table.add(timer, to: .default, common: [.default])
        let firing = table.beginFiring(in: .default, at: 20)
        let (fired, date) = try #require(firing)
        #expect(fired === timer && date == 10)
        timer.fireDate = MonotonicTime(nanoseconds: 500)
        timer.fire(for: date) { 30 }
        #expect(timer.fireDate.nanoseconds == 500)
    }

    @Test func `tolerances let the loop sleep until the first timer must fire`() {
        var table = TimerTable()
        func add(_ due: Int, _ tolerance: Int) -> RunLoopTimer {
            let timer = RunLoopTimer(
                fireDate: MonotonicTime(nanoseconds: UInt64(due)),
                tolerance: .nanoseconds(tolerance)
            ) { _ in }
            _ = table.add(timer, to: .default, common: [.default])
            return timer
        }
        let tolerant = add(100, 1_000)
        #expect(table.plan(for: .default).latestFire == 1_100)
        _ = add(500, 100)
        let exact = add(700, 0)
        #expect(table.plan(for: .default).nextFire == 100)
        #expect(table.plan(for: .default).latestFire == 600)
        tolerant.tolerance = .zero
        _ = table.update(tolerant)
        #expect(table.plan(for: .default).latestFire == 100)
        _ = table.remove(tolerant)
        #expect(table.plan(for: .default).latestFire == 600)
        #expect(table.removeAll().contains { $0 === exact })
        #expect(table.plan(for: .default).latestFire == .max)
    }
}
