internal import Foundation
internal import LagRunLoop

/// A consumer that was held up: microseconds an event for a backlog of that many, against an `OperationQueue` of one operation at a time.
struct DeliveryBacklog: PairedBenchmark {
    let count: Int
    var name: String { "delivery_backlog_\(count)" }
    let unit = "us"
    let peer = "operation_queue"
    var rounds: Int { Paired.rounds(of: count) }

    func ours() -> Double {
        let queue = DispatchQueue(label: "bench-backlog")
        let (done, all) = (Tally(), DispatchSemaphore(value: 0))
        let delivery = SerialDelivery<Int>(on: queue) { [count] _ in
            done.add()
            if done.value == count { all.signal() }
        }
        queue.suspend()
        for number in 0..<count { delivery.deliver(number) }
        return each {
            queue.resume()
            all.wait()
        }
    }

    func theirs() -> Double {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let (done, all) = (Tally(), DispatchSemaphore(value: 0))
        queue.isSuspended = true
        for _ in 0..<count {
            queue.addOperation { [count] in
                done.add()
                if done.value == count { all.signal() }
            }
        }
        return each {
            queue.isSuspended = false
            all.wait()
        }
    }

    private func each(_ body: () -> Void) -> Double { Stopwatch.milliseconds(body) * 1000 / Double(count) }
}
