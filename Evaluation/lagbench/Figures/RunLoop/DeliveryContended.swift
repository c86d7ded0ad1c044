internal import Foundation
internal import LagRunLoop

/// Threads that deliver to one consumer at the same time: milliseconds until the last event is handled, against an `OperationQueue` of one
/// operation at a time.
struct DeliveryContended: PairedBenchmark {
    let threads: Int
    var name: String { "delivery_threads_\(threads)" }
    let unit = "ms"
    let peer = "operation_queue"
    let rounds = 1

    func ours() throws -> Double {
        let done = Tally()
        let delivery = SerialDelivery<Int>(on: DispatchQueue(label: "bench-delivery")) { _ in done.add() }
        return try Producers.milliseconds(threads, done) { _ in delivery.deliver(1) }
    }

    func theirs() throws -> Double {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        return try Producers.milliseconds(threads) { done in queue.addOperation { done.add() } }
    }
}
