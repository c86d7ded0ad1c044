internal import Dispatch
internal import Foundation
internal import Glibc
internal import LagMonitor

// Threads wait for each other in a cycle that includes the main thread. These stalls never end: the parent ends the process after
// the record of the hang.

extension Corpus {
    static let deadlocks: [Scenario] = [
        Scenario(
            "deadlock-two",
            [.deadlock],
            ["transferMoney"],
            "two mutexes, taken in opposite order",
            making: {
                let (ours, theirs) = (ThreadMutex(), ThreadMutex())
                return { _ in
                    ours.lock()
                    try Self.hold(theirs, thenWaitFor: ours, by: "partner")
                    return transferMoney(theirs)
                }
            }
        ),
        Scenario(
            "deadlock-three",
            [.deadlock],
            ["passTheFork"],
            "three mutexes and three threads",
            making: {
                let (ours, left, right) = (ThreadMutex(), ThreadMutex(), ThreadMutex())
                return { _ in
                    ours.lock()
                    try Self.hold(right, thenWaitFor: ours, by: "right")
                    try Self.hold(left, thenWaitFor: right, by: "left")
                    return passTheFork(left)
                }
            }
        ),
        Scenario(
            "deadlock-self",
            [.deadlock],
            ["saveTwice"],
            "a mutex that is not recursive, locked twice by one thread",
            making: {
                let mutex = ThreadMutex()
                return { _ in
                    mutex.lock()
                    return saveTwice(mutex)
                }
            }
        ),
        Scenario(
            "deadlock-self-nslock",
            [.deadlock],
            ["notifyObservers"],
            "an NSLock locked twice by one thread",
            making: {
                let lock = NSLock()
                return { _ in
                    lock.lock()
                    return notifyObservers(lock)
                }
            }
        ),
        Scenario(
            "deadlock-main-sync",
            [.deadlock],
            ["flushQueue"],
            "sync onto a queue whose block calls DispatchQueue.main.sync",
            making: {
                let queue = DispatchQueue(label: "corpus.model")
                return { _ in
                    let begun = Gate()
                    queue.async {
                        begun.open()
                        DispatchQueue.main.sync {}
                    }
                    begun.wait()
                    return flushQueue(queue)
                }
            }
        ),
        Scenario(
            "deadlock-queue-lock",
            [.deadlock],
            ["commitChanges"],
            "sync onto a queue whose block waits for a mutex that the main thread holds",
            making: {
                let queue = DispatchQueue(label: "corpus.store")
                let mutex = ThreadMutex()
                return { _ in
                    mutex.lock()
                    let begun = Gate()
                    queue.async {
                        begun.open()
                        mutex.lock()
                    }
                    begun.wait()
                    return commitChanges(queue)
                }
            }
        ),
        Scenario(
            "deadlock-lock-main-sync",
            [.deadlock],
            ["readModel"],
            "a mutex whose holder calls DispatchQueue.main.sync",
            making: {
                let mutex = ThreadMutex()
                return { _ in
                    let held = Gate()
                    try helper("importer") {
                        mutex.lock()
                        held.open()
                        DispatchQueue.main.sync {}
                    }
                    held.wait()
                    return readModel(mutex)
                }
            }
        ),
    ].map { scenario in scenario.with { $0.ending = .byParent } }

    /// Returns when another thread holds `first`; this thread then waits for `second`.
    private static func hold(_ first: ThreadMutex, thenWaitFor second: ThreadMutex, by name: String) throws {
        let held = Gate()
        try helper(name) {
            first.lock()
            held.open()
            second.lock()
        }
        held.wait()
    }
}

@inline(never)
func transferMoney(_ account: ThreadMutex) -> Int {
    pthread_mutex_lock(account.raw)
    pthread_mutex_unlock(account.raw)
    return 1
}

@inline(never)
func passTheFork(_ fork: ThreadMutex) -> Int {
    pthread_mutex_lock(fork.raw)
    pthread_mutex_unlock(fork.raw)
    return 2
}

@inline(never)
func saveTwice(_ mutex: ThreadMutex) -> Int {
    pthread_mutex_lock(mutex.raw)
    pthread_mutex_unlock(mutex.raw)
    return 3
}

@inline(never)
func notifyObservers(_ lock: NSLock) -> Int {
    lock.lock()
    lock.unlock()
    return 4
}

@inline(never)
func flushQueue(_ queue: DispatchQueue) -> Int { queue.sync { 5 } + 1 }

@inline(never)
func commitChanges(_ queue: DispatchQueue) -> Int { queue.sync { 6 } * 3 - queue.label.utf8.count }

@inline(never)
func readModel(_ mutex: ThreadMutex) -> Int {
    pthread_mutex_lock(mutex.raw)
    pthread_mutex_unlock(mutex.raw)
    return 7
}
