internal import Dispatch
internal import Foundation
internal import LagMonitor

// The main thread waits for a dispatch queue.

extension Corpus {
    static let queues: [Scenario] = [
        Scenario(
            "sync-computing-queue",
            [.lock],
            ["askBusyQueue"],
            "sync onto a serial queue that computes",
            making: {
                let queue = DispatchQueue(label: "corpus.computing")
                return { end in
                    let begun = Gate()
                    queue.async {
                        begun.open()
                        _ = countPrimes(until: end)
                    }
                    begun.wait()
                    return askBusyQueue(queue)
                }
            }
        ),
        Scenario(
            "sync-sleeping-queue",
            [.lock],
            ["askSlowQueue"],
            "sync onto a serial queue whose block waits",
            making: {
                let queue = DispatchQueue(label: "corpus.sleeping")
                return { end in
                    let begun = Gate()
                    queue.async {
                        begun.open()
                        rest(until: end)
                    }
                    begun.wait()
                    return askSlowQueue(queue)
                }
            }
        ),
        Scenario(
            "barrier-sync",
            [.lock],
            ["replaceIndex"],
            "a barrier on a concurrent queue with a slow reader",
            making: {
                let queue = DispatchQueue(label: "corpus.concurrent", attributes: .concurrent)
                return { end in
                    let begun = Gate()
                    queue.async {
                        begun.open()
                        rest(until: end)
                    }
                    begun.wait()
                    return replaceIndex(queue)
                }
            }
        ),
        Scenario("sync-free-queue", [.cpu], ["closure in computeOnQueue"], "sync onto a free queue: its block computes here") {
            computeOnQueue(DispatchQueue(label: "corpus.free"), until: $0)
        }.with { $0.needsOwnProcessor = true },
        Scenario("group-wait", [.lock], ["waitForDownloads"], "DispatchGroup.wait") { end in
            let group = DispatchGroup()
            for _ in 0..<2 { DispatchQueue.global().async(group: group) { rest(until: end) } }
            return waitForDownloads(group)
        },
        Scenario("operation-wait", [.lock], ["finishExports"], "OperationQueue.waitUntilAllOperationsAreFinished") { end in
            let queue = OperationQueue()
            queue.addOperation { rest(until: end) }
            return finishExports(queue)
        },
    ]
}

@inline(never)
func finishExports(_ queue: OperationQueue) -> Int {
    queue.waitUntilAllOperationsAreFinished()
    return queue.operationCount
}

@inline(never)
func askBusyQueue(_ queue: DispatchQueue) -> Int { queue.sync { 1 } + 1 }

@inline(never)
func askSlowQueue(_ queue: DispatchQueue) -> Int { queue.sync { 2 } * 3 + queue.label.utf8.count }

@inline(never)
func replaceIndex(_ queue: DispatchQueue) -> Int { queue.sync(flags: .barrier) { 3 } + 1 }

@inline(never)
func computeOnQueue(_ queue: DispatchQueue, until end: MonotonicTime) -> Int {
    queue.sync {
        var state = 1
        while MonotonicTime.now < end {
            for index in 0..<2_000 { state = (state &* 13) ^ index }
        }
        return state
    }
}

@inline(never)
func waitForDownloads(_ group: DispatchGroup) -> Int {
    group.wait()
    return 1
}
