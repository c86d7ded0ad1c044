internal import CoreFoundation
internal import Foundation
internal import LagActivity
internal import LagRunLoop

/// Threads that submit work to one loop at the same time: milliseconds until the last piece is done, against CFRunLoop's blocks.
struct PerformContended: Benchmark {
    let threads: Int
    var name: String { "perform_threads_\(threads)" }
    let unit = "ms"
    let targets = [Target(.ratio, .atLeast(1))]

    func run() throws -> [BenchLine] {
        try Paired.line(name, unit, peer: "cfrunloop", rounds: Producers.rounds, ours: { try ours() }, theirs: { try theirs() })
    }

    private func ours() throws -> Double {
        let thread = try KeepAliveThread(name: "bench-perform")
        defer {
            thread.stop()
            thread.join()
        }
        return try Producers.milliseconds(threads) { done in thread.loop.perform { done.add() } }
    }

    private func theirs() throws -> Double {
        let loop = try CoreFoundationLoop {}
        defer { loop.stop() }
        return try Producers.milliseconds(threads) { done in loop.perform { done.add() } }
    }
}

/// Threads that send messages to one port at the same time: milliseconds until the last one is handled, against what does it on a CFRunLoop
/// of Linux, which has no ports: an array with a lock, and a manual source that is signalled.
struct PortContended: Benchmark {
    let threads: Int
    var name: String { "port_threads_\(threads)" }
    let unit = "ms"
    let targets = [Target(.ratio, .atLeast(1))]

    func run() throws -> [BenchLine] {
        try Paired.line(
            name,
            unit,
            peer: "cfrunloop_source",
            rounds: Producers.rounds,
            ours: { try ours() },
            theirs: { try theirs() }
        )
    }

    private func ours() throws -> Double {
        let thread = try KeepAliveThread(name: "bench-port")
        defer {
            thread.stop()
            thread.join()
        }
        let done = Tally()
        let port = RunLoopPort { _, _ in done.add() }
        thread.loop.add(port, to: .default)
        return try Producers.milliseconds(threads, done) { _ in port.send(id: 1) }
    }

    private func theirs() throws -> Double {
        let done = Tally()
        let inbox = LockedInbox { _ in done.add() }
        let loop = try CoreFoundationLoop { inbox.handleAll() }
        defer { loop.stop() }
        return try Producers.milliseconds(threads, done) { _ in
            inbox.append(1)
            loop.signal()
        }
    }
}

/// Threads that deliver to one consumer at the same time: milliseconds until the last event is handled, against an `OperationQueue` of one
/// operation at a time.
struct DeliveryContended: Benchmark {
    let threads: Int
    var name: String { "delivery_threads_\(threads)" }
    let unit = "ms"
    let targets = [Target(.ratio, .atLeast(1))]

    func run() throws -> [BenchLine] {
        try Paired.line(
            name,
            unit,
            peer: "operation_queue",
            rounds: Producers.rounds,
            ours: { try ours() },
            theirs: { try theirs() }
        )
    }

    private func ours() throws -> Double {
        let done = Tally()
        let delivery = SerialDelivery<Int>(on: DispatchQueue(label: "bench-delivery")) { _ in done.add() }
        return try Producers.milliseconds(threads, done) { _ in delivery.deliver(1) }
    }

    private func theirs() throws -> Double {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        return try Producers.milliseconds(threads) { done in queue.addOperation { done.add() } }
    }
}

/// A consumer that was held up: microseconds an event for a backlog of that many, against an `OperationQueue` of one operation at a time.
struct DeliveryBacklog: Benchmark {
    let count: Int
    var name: String { "delivery_backlog_\(count)" }
    let unit = "us"
    let targets = [Target(.ratio, .atLeast(1))]

    func run() throws -> [BenchLine] {
        try Paired.line(
            name,
            unit,
            peer: "operation_queue",
            rounds: Paired.rounds(of: count),
            ours: { ours() },
            theirs: { theirs() }
        )
    }

    private func ours() -> Double {
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

    private func theirs() -> Double {
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

/// Threads that all do the same, as fast as they can.
enum Producers {
    static let rounds = 3
    private static let submissions = 50_000
    private static let patience = Duration.seconds(60)
    private static let pollMilliseconds = 0.05

    /// From the start of the threads until all their submissions are done.
    static func milliseconds(_ threads: Int, _ done: Tally = Tally(), _ submit: @escaping @Sendable (Tally) -> Void) throws -> Double {
        let begin = MonotonicTime.now
        let producers = try (0..<threads).map { _ in try BenchThread { for _ in 0..<submissions { submit(done) } } }
        for producer in producers { producer.join() }
        while done.value < threads * submissions {
            if .now > begin + patience { throw BenchmarkFailure("\(done.value) of \(threads * submissions) done") }
            Pause.sleep(milliseconds: pollMilliseconds)
        }
        return (MonotonicTime.now - begin) / .milliseconds(1)
    }
}
