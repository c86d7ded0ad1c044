internal import Foundation
internal import Glibc
internal import LagMonitor
internal import Synchronization

// The main thread waits for a lock that another thread holds.

extension Corpus {
    static let locks: [Scenario] = [
        Scenario(
            "pthread-mutex",
            [.lock],
            ["updateBalance"],
            "a pthread mutex held by another thread",
            making: {
                let mutex = ThreadMutex()
                return { end in
                    try mutex.lockOnThread(named: "accountant", until: end)
                    return updateBalance(mutex)
                }
            }
        ),
        Scenario(
            "nslock",
            [.lock],
            ["readSettings"],
            "an NSLock held by another thread",
            making: {
                let lock = NSLock()
                return { end in
                    let held = Gate()
                    try helper("loader") {
                        lock.lock()
                        held.open()
                        rest(until: end)
                        lock.unlock()
                    }
                    held.wait()
                    return readSettings(lock)
                }
            }
        ),
        Scenario(
            "recursive-lock",
            [.lock],
            ["appendEvent"],
            "an NSRecursiveLock held twice by another thread",
            making: {
                let lock = NSRecursiveLock()
                return { end in
                    let held = Gate()
                    try helper("uploader") {
                        lock.lock()
                        lock.lock()
                        held.open()
                        rest(until: end)
                        lock.unlock()
                        lock.unlock()
                    }
                    held.wait()
                    return appendEvent(lock)
                }
            }
        ),
        Scenario(
            "swift-mutex",
            [.lock],
            ["countEntries"],
            "a Synchronization.Mutex held by another thread",
            making: {
                let cache = Cache()
                return { end in
                    let held = Gate()
                    try helper("refresher") {
                        cache.entries.withLock { _ in
                            held.open()
                            rest(until: end)
                        }
                    }
                    held.wait()
                    return countEntries(cache)
                }
            }
        ),
        Scenario(
            "read-write-lock",
            [.lock],
            ["lookUpRoute"],
            "a read-write lock held for writing by another thread",
            making: {
                let lock = Immortal(pthread_rwlock_t()) { pthread_rwlock_init($0, nil) }
                return { end in
                    let held = Gate()
                    try helper("router") {
                        pthread_rwlock_wrlock(lock.raw)
                        held.open()
                        rest(until: end)
                        pthread_rwlock_unlock(lock.raw)
                    }
                    held.wait()
                    return lookUpRoute(lock)
                }
            }
        ),
        Scenario(
            "lazy-global",
            [.lock],
            ["useLazyTable", "lazyTable.unsafeMutableAddressor"],
            "a global that another thread is initialising: its reader, or the accessor that the compiler generated",
            making: {
                { end in
                    LazyTableSetting.end.store(end.nanoseconds, ordering: .releasing)
                    try helper("initialiser") { _ = useLazyTable() }
                    LazyTableSetting.begun.wait()
                    return useLazyTable()
                }
            }
        ),
    ]
}

@inline(never)
func updateBalance(_ mutex: ThreadMutex) -> Int {
    pthread_mutex_lock(mutex.raw)
    pthread_mutex_unlock(mutex.raw)
    return 1
}

@inline(never)
func readSettings(_ lock: NSLock) -> Int {
    lock.lock()
    lock.unlock()
    return 1
}

@inline(never)
func appendEvent(_ lock: NSRecursiveLock) -> Int {
    lock.lock()
    lock.unlock()
    return 2
}

final class Cache: Sendable {
    let entries = Mutex([1, 2, 3])
}

@inline(never)
func countEntries(_ cache: Cache) -> Int { cache.entries.withLock { $0.count } }

@inline(never)
func lookUpRoute(_ lock: Immortal<pthread_rwlock_t>) -> Int {
    pthread_rwlock_rdlock(lock.raw)
    return Int(pthread_rwlock_unlock(lock.raw)) + 1
}

/// The time when the initialiser of ``lazyTable`` ends, and whether it has begun.
enum LazyTableSetting {
    static let end = Atomic<UInt64>(0)
    static let begun = Gate()
}

/// Slow to initialise.
let lazyTable: [Int] = {
    LazyTableSetting.begun.open()
    rest(until: MonotonicTime(nanoseconds: LazyTableSetting.end.load(ordering: .acquiring)))
    return [1, 2, 3]
}()

@inline(never)
func useLazyTable() -> Int { lazyTable.count }
