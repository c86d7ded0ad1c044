import Dispatch
import Glibc

/// Threads that wait for each other, some in a circle.
extension Scenario {
    static let chains: [String: Body] = [
        "chain-to-running": {
            let mutex = SharedMutex()
            let holder = StalledThread { thread in
                mutex.lock()
                thread.setReady()
                _ = spinUntilReleased(thread)
            }
            holder.waitUntilStalled(sleeping: false)
            let waiter = StalledThread.waiting { mutex.lock() }
            report(waiter, [("holder", holder)])
        },
        "chain-of-three": { ring([("a", "b"), ("b", "c"), ("c", nil)], ask: "a") },
        "chain-into-a-cycle": { ring([("a", "b"), ("b", "c"), ("c", "b")], ask: "a") },
        "deadlock-of-one": { ring([("a", "a")], ask: "a") },
        "deadlock-of-two": { ring([("a", "b"), ("b", "a")], ask: "b") },
        "ring-with-a-time-out": { ring([("a", "b"), ("b", "c"), ("c", "a")], ask: "b", givesUp: "c") },
        "deadlock-of-three": { ring([("a", "b"), ("b", "c"), ("c", "a")], ask: "b") },
        "chain-too-long": {
            // Each waits for the next one; more than are followed.
            let names = (0...20).map { "t\($0)" }
            ring(zip(names, names.dropFirst()).map { ($0, $1) } + [("t20", nil)], ask: "t0")
        },
        "deadlock-of-mutex-and-queue": {
            let mutex = SharedMutex()
            let queue = DispatchQueue(label: "busy")
            let tid = Gate()
            let waiter = StalledThread { thread in
                mutex.lock()
                while tid.value == 0 { usleep(1000) }
                thread.setReady()
                queue.sync {}
            }
            queue.async {
                tid.value = CaptureScenarios.gettid()
                usleep(50_000)
                mutex.lock()
            }
            while tid.value == 0 { usleep(1000) }
            usleep(200_000)
            report(waiter, [], tid.value)
        },
    ]

    /// Threads that each hold a mutex, and then lock that of another; one of them perhaps with a timeout.
    private static func ring(_ threads: [(name: String, wants: String?)], ask: String, givesUp: String? = nil) {
        let mutexes = Dictionary(uniqueKeysWithValues: threads.map { ($0.name, SharedMutex()) })
        let holding = Gate()
        var started: [(String, StalledThread)] = []
        for (name, wants) in threads {
            let (own, other) = (mutexes[name]!, wants.flatMap { mutexes[$0] })
            started.append(
                (
                    name,
                    StalledThread { thread in
                        own.lock()
                        holding.add()
                        while holding.value < Int32(threads.count) { usleep(1000) }
                        thread.setReady()
                        guard let other else { return sleepForever(thread) }
                        if name == givesUp { other.lock(seconds: 60) } else { other.lock() }
                    }
                )
            )
        }
        for (_, thread) in started { thread.waitUntilStalled(sleeping: true) }
        usleep(100_000)
        report(started.first { $0.0 == ask }!.1, started.filter { $0.0 != ask }, asked: ask)
    }
}
