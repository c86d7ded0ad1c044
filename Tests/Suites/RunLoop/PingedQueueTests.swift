import Dispatch
import Foundation
internal import LagActivity
import LagRunLoop
import TestSupport
import Testing

/// Loops that cannot be observed can still be pinged.
struct PingedQueueTests {
    private func answers(_ loop: PingedQueue) -> Bool {
        let asked = MonotonicTime.now.nanoseconds
        loop.ping()
        return eventually { loop.beacon.pongNanoseconds >= asked }
    }

    @Test func `a free queue answers every ping`() {
        let loop = PingedQueue(DispatchQueue(label: "pinged"))
        for _ in 0..<20 { #expect(answers(loop)) }
        #expect(!loop.pingsWithoutLocking)
    }

    @Test func `a concurrent queue answers the pings of several threads`() {
        let loop = PingedQueue(DispatchQueue.global())
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<500 { loop.ping() }
        }
        #expect(answers(loop))
    }

    @Test func `a busy queue answers several pings once, when it handles them`() {
        let queue = DispatchQueue(label: "pinged")
        let loop = PingedQueue(queue)
        let goOn = occupy(queue)
        let asked = MonotonicTime.now.nanoseconds
        loop.ping()
        // Between the one answer and any superfluous ones.
        let answers = Log<UInt64>()
        queue.async { answers.add(loop.beacon.pongNanoseconds) }
        for _ in 0..<100 { loop.ping() }
        usleep(5_000)
        #expect(loop.beacon.pongNanoseconds == 0)
        let freed = MonotonicTime.now.nanoseconds
        goOn.signal()
        queue.sync { answers.add(loop.beacon.pongNanoseconds) }
        #expect(answers.all.count == 2 && Set(answers.all).count == 1)
        #expect(answers.all.allSatisfy { $0 >= freed && $0 > asked })
    }

    /// A block that the queue is running does not count as waiting, and neither does LagMonitor's ping.
    @Test(arguments: [0, 1, 3, 600]) func `the blocks waiting in a queue are counted up to a limit`(jobs: Int) {
        let queue = DispatchQueue(label: "counted")
        let loop = PingedQueue(queue)
        #expect(loop.countWaiting() == 0)
        let goOn = occupy(queue)
        loop.ping()
        #expect(loop.countWaiting() == 0)
        for _ in 0..<jobs { queue.async {} }
        #expect(loop.countWaiting() == min(jobs, 512))
        goOn.signal()
        queue.sync {}
        #expect(loop.countWaiting() == 0)
    }

    @Test func `the number of waiting blocks is unknown while LagMonitor has a timer on the queue`() {
        let loop = PingedQueue(DispatchQueue(label: "ticking"))
        #expect(loop.countWaiting() == 0)
        let ticker = loop.startTicking(every: .seconds(60)) {}
        #expect(loop.countWaiting() == nil)
        ticker?.cancel()
    }

    @Test func `a queue publishes its name, but no thread and no activity`() {
        #expect(PingedQueue(DispatchQueue(label: "label")).name == "label")
        #expect(PingedQueue(DispatchQueue(label: "label"), named: "given").name == "given")
        #expect(PingedQueue(DispatchQueue(label: "")).name == "queue")
        #expect(PingedQueue(.main).name == "main")
        let loop = PingedQueue(DispatchQueue(label: "quiet"))
        #expect(answers(loop))
        #expect(loop.beacon.activity == .notRunning && loop.beacon.sequence == 0)
        #expect(loop.thread.tid == 0)
        #expect(loop.modeName(1) == nil)
    }

    @Test func `a ticker runs on its queue until it is cancelled`() {
        let queue = DispatchQueue(label: "ticking")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let loop = PingedQueue(queue)
        let places = Log<Bool>()
        let ticker = loop.startTicking(every: .milliseconds(2)) { places.add(DispatchQueue.getSpecific(key: key) == true) }
        #expect(eventually { places.count >= 5 })
        // On the queue itself: no tick begins after it.
        let count = queue.sync {
            ticker?.cancel()
            ticker?.cancel()
            return places.count
        }
        usleep(30_000)
        #expect(places.count == count)
        #expect(Set(places.all) == [true])
    }

    @Test func `missed ticks are merged`() {
        let queue = DispatchQueue(label: "ticking")
        let loop = PingedQueue(queue)
        let ticks = Counter()
        let ticker = loop.startTicking(every: .milliseconds(20)) { ticks.add() }
        queue.sync { _ = usleep(400_000) }
        let before = ticks.value
        // One tick for all missed ones, and at most those of the time since.
        #expect(eventually { ticks.value > before })
        #expect(ticks.value < 15)
        ticker?.cancel()
    }

    @Test func `a pinged queue keeps no objects alive`() {
        let ended = Counter()
        weak var loop: PingedQueue?
        let queue = DispatchQueue(label: "kept")
        let goOn = DispatchSemaphore(value: 0)
        queue.async { goOn.wait() }
        var ticker: (any LoopTicker)?
        do {
            let pinged = PingedQueue(queue)
            loop = pinged
            pinged.ping()
            ticker = pinged.startTicking(every: .milliseconds(1)) { [tracked = Tracked(ended)] in tracked.touch() }
        }
        #expect(loop == nil, "neither the queue nor the ticks retain it")
        goOn.signal()
        queue.sync {}
        #expect(ticker != nil)
        ticker?.cancel()
        #expect(eventually { ended.value == 1 })
        ticker = PingedQueue(queue).startTicking(every: .milliseconds(1)) { [tracked = Tracked(ended)] in tracked.touch() }
        #expect(ticker != nil)
        ticker = nil
        #expect(eventually { ended.value == 2 }, "released without a cancel, it ends too")
    }
}
