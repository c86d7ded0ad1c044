import Dispatch
import Foundation
internal import LagActivity
internal import LagModel
import LagRunLoop
import TestSupport
import Testing

/// Row S13: delivered one at a time, in order, where the consumer wants it.
struct SerialDeliveryTests {
    @Test func `calls never overlap on a concurrent queue`() throws {
        let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
        let inside = Counter()
        let overlaps = Counter()
        let received = Log<Int>()
        let delivery = SerialDelivery<Int>(on: queue) { event in
            if inside.add() != 1 { overlaps.add() }
            if event % 100 == 0 { usleep(200) }
            received.add(event)
            inside.add(-1)
        }
        DispatchQueue.concurrentPerform(iterations: 4) { producer in
            for number in 0..<1_000 { delivery.deliver(producer * 1_000 + number) }
        }
        #expect(eventually { received.count == 4_000 })
        #expect(overlaps.value == 0)
        for producer in 0..<4 {
            let ofOne = received.all.filter { $0 / 1_000 == producer }
            #expect(ofOne == ofOne.sorted(), "the order of one producer is kept")
        }
    }

    @Test func `it runs on the named queue`() {
        let key = DispatchSpecificKey<String>()
        let queue = DispatchQueue(label: "named")
        queue.setSpecific(key: key, value: "mine")
        let log = Log<String?>()
        let delivery = SerialDelivery<Int>(on: queue) { _ in log.add(DispatchQueue.getSpecific(key: key)) }
        delivery.deliver(1)
        #expect(eventually { log.count == 1 })
        #expect(log.all == ["mine"])
    }

    @Test func `delivering does not wait for the handler and the handler may deliver`() {
        let queue = DispatchQueue(label: "suspended")
        queue.suspend()
        let log = Log<Int>()
        let box = Box<SerialDelivery<Int>>()
        let delivery = SerialDelivery<Int>(on: queue) { event in
            log.add(event)
            if event == 1 { box.value?.deliver(3) }
        }
        box.value = delivery
        delivery.deliver(1)
        delivery.deliver(2)
        #expect(delivery.waitingEvents == 2)
        queue.resume()
        #expect(eventually { log.count == 3 })
        #expect(log.all == [1, 2, 3])
        box.value = nil
    }

    @Test func `cancelling drops what waits and releases the handler`() {
        let queue = DispatchQueue(label: "suspended")
        queue.suspend()
        let ended = Counter()
        let calls = Counter()
        let delivery = {
            let tracked = Tracked(ended)
            return SerialDelivery<Int>(on: queue) { _ in
                tracked.touch()
                calls.add()
            }
        }()
        delivery.deliver(1)
        delivery.cancel()
        #expect(!delivery.deliver(2))
        #expect(ended.value == 1)
        queue.resume()
        queue.sync {}
        #expect(calls.value == 0)
    }

    /// As large as what is delivered in earnest, so that moving it about shows.
    private struct Event: Sendable {
        var words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
        var text = ""
        var list: [Int] = []
    }

    /// Eight times the backlog costs eight times as much, and not sixty-four times.
    @Test func `an event of a long backlog costs what one of a short backlog costs`() {
        func cost(_ count: Int) -> Double {
            (0..<3).map { _ in
                let queue = DispatchQueue(label: "suspended")
                queue.suspend()
                let clock = DeliveryClock()
                let delivery = SerialDelivery<Event>(on: queue) { _ in clock.tick() }
                for _ in 0..<count { delivery.deliver(Event()) }
                queue.resume()
                #expect(eventually(seconds: 120) { clock.ticks == count })
                return clock.nanoseconds / Double(count)
            }.min()!
        }
        let ratio = cost(80_000) / cost(10_000)
        #expect(ratio < 3)
    }
}

/// Processor time from one event to the next, where both came on one thread.
private final class DeliveryClock: Sendable {
    private struct State {
        var ticks = 0
        var last: (thread: pthread_t, nanoseconds: UInt64)?
        var sum = UInt64(0)
    }

    private let state = PthreadMutex(State())

    var ticks: Int { state.withLock { $0.ticks } }
    var nanoseconds: Double { state.withLock { Double($0.sum) } }

    func tick() {
        let now = (thread: pthread_self(), nanoseconds: threadNanoseconds())
        state.withLock { state in
            if let last = state.last, last.thread == now.thread { state.sum += now.nanoseconds - last.nanoseconds }
            state.last = now
            state.ticks += 1
        }
    }
}
