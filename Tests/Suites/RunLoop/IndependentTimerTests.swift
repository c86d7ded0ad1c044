import Dispatch
import Foundation
internal import LagActivity
import TestSupport
import Testing

@testable import LagRunLoop

/// The timer that is not an item of the loop.
struct IndependentTimerTests {
    @Test func `an independent timer fires while the loop stalls, in every mode`() throws {
        try withThread { thread in
            let ticks = Counter()
            let stalled = Counter()
            let timer = IndependentTimer(after: .milliseconds(1), interval: .milliseconds(1)) { ticks.add() }
            // The loop's own timer does not fire meanwhile.
            let own = Counter()
            let loopTimer = RunLoopTimer(after: .milliseconds(1), interval: .milliseconds(1)) { _ in own.add() }
            try thread.performAndWait {
                thread.loop.add(loopTimer, to: .default)
                let before = ticks.value
                if eventually({ ticks.value >= before + 5 }) { stalled.add() }
                #expect(own.value == 0)
            }
            #expect(stalled.value == 1)
            timer.cancel()
            timer.cancel()
            #expect(!timer.isValid)
        }
    }

    @Test func `an independent timer without an interval fires once, on the given queue`() {
        let key = DispatchSpecificKey<Int>()
        let queue = DispatchQueue(label: "named")
        queue.setSpecific(key: key, value: 7)
        let log = Log<Int?>()
        let timer = IndependentTimer(after: .milliseconds(5), queue: queue) { log.add(DispatchQueue.getSpecific(key: key)) }
        #expect(eventually { log.count == 1 })
        usleep(30_000)
        #expect(log.all == [7])
        timer.cancel()
    }

    @Test func `an independent timer is invalid after its last fire`() {
        let ended = Counter()
        let (once, repeating) = (Counter(), Counter())
        let timer = {
            let tracked = Tracked(ended)
            return IndependentTimer(after: .milliseconds(1)) {
                tracked.touch()
                once.add()
            }
        }()
        let other = IndependentTimer(after: .zero, interval: .milliseconds(1)) { repeating.add() }
        #expect(eventually { once.value == 1 })
        #expect(!timer.isValid)
        #expect(eventually { ended.value == 1 }, "and its handler is released")
        #expect(eventually { repeating.value >= 3 })
        #expect(other.isValid)
        other.cancel()
    }

    @Test(arguments: [Duration.seconds(Int64.min), .seconds(Int64.min / 1_000_000_000), .seconds(-3), .zero])
    func `a delay in the past fires at once`(_ delay: Duration) {
        let fired = Counter()
        let timer = IndependentTimer(after: delay) { fired.add() }
        #expect(eventually { fired.value == 1 })
        #expect(!timer.isValid)
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.max / 1_000_000_000)])
    func `a delay beyond the clock never fires`(_ delay: Duration) {
        let fired = Counter()
        let timer = IndependentTimer(after: delay, interval: delay, leeway: delay) { fired.add() }
        usleep(20_000)
        #expect(fired.value == 0 && timer.isValid)
        timer.cancel()
    }

    @Test func `an independent timer ends when its last reference is released`() {
        let ended = Counter()
        do {
            let tracked = Tracked(ended)
            let timer = IndependentTimer(after: .seconds(1_000)) { tracked.touch() }
            #expect(timer.isValid)
        }
        #expect(eventually { ended.value == 1 })
    }
}
