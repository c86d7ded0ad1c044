internal import Dispatch
internal import Foundation
internal import FoundationNetworking
internal import Synchronization

// Locks, queues and semaphores for which the main thread waits.

extension Corpus {
    static let waits: [Scenario] = [
        Scenario("sync-mutex", "Synchronization.Mutex that another thread holds", ["lock"], ["AuditLog.add"]) {
            let log = AuditLog()
            log.occupy(for: 460)
            return log.add(3)
        },
        Scenario("nslock", "NSLock", ["lock"], ["Sessions.add"]) {
            let sessions = Sessions()
            hold(for: 510, { sessions.lock.lock() }, { sessions.lock.unlock() })
            return sessions.add("x")
        },
        Scenario("nslock-scoped", "NSLock, by withLock", ["lock"], ["Sessions.addScoped"]) {
            let sessions = Sessions()
            hold(for: 350, { sessions.lock.lock() }, { sessions.lock.unlock() })
            return sessions.addScoped("x")
        },
        Scenario("nsrecursive", "NSRecursiveLock, taken twice", ["lock"], ["Catalog.addTwice"]) {
            hold(for: 470, { Catalog.lock.lock() }, { Catalog.lock.unlock() })
            return Catalog.addTwice()
        },
        Scenario("nscondition", "NSCondition", ["lock"], ["Catalog.waitForChange"]) { Catalog.waitForChange() },
        Scenario("pthread-mutex", "a POSIX mutex", ["lock"], ["Meter.count"]) {
            let meter = Meter()
            hold(for: 600, { pthread_mutex_lock(meter.mutex) }, { pthread_mutex_unlock(meter.mutex) })
            return meter.count()
        },
        Scenario(
            "static-init-lock",
            "a static that another thread is initialising",
            ["lock"],
            ["Features.isOn", "Features.flags.unsafeMutableAddressor"]
        ) {
            Thread.detachNewThread { keep(Features.isOn("search") ? 1 : 0) }
            usleep(20_000)
            return Features.isOn("search") ? 1 : 0
        },
        Scenario("queue-sync", "sync onto a busy queue", ["lock"], ["ImageCache.image"]) {
            let cache = ImageCache()
            cache.warm(540)
            usleep(5_000)
            return cache.image(2)
        },
        Scenario("semaphore", "a Dispatch semaphore", ["lock"], ["LegacyCode.importAll"]) { LegacyCode.importAll(430) },
        Scenario("group-wait", "a Dispatch group", ["lock"], ["LegacyCode.waitForGroup"]) { LegacyCode.waitForGroup(660) },
        Scenario("operation-queue", "operations of Foundation", ["lock"], ["LegacyCode.runOperations"]) {
            LegacyCode.runOperations(520)
        },
        Scenario("task-bridge", "a semaphore that a task signals", ["lock"], ["LegacyCode.runTask"]) { LegacyCode.runTask(500) },
        Scenario("concurrent-perform", "concurrentPerform", ["cpu", "runqueue", "lock"], ["LegacyCode.computeInParallel"]) {
            LegacyCode.computeInParallel(450)
        },
        Scenario("urlsession-sync", "waiting for a URLSession request", ["lock"], ["Download.fetch"]) {
            guard let address = URL(string: "http://127.0.0.1:\(Loopback.slowServer(milliseconds: 480))/") else { return 0 }
            return Download().fetch(address)
        },
        Scenario("grdb-blocked", "a GRDB queue on which a thread writes", ["lock"], ["Inventory.count"]) {
            let inventory = try Inventory()
            Thread.detachNewThread { inventory.lock(milliseconds: 590) }
            usleep(30_000)
            return try inventory.count()
        },
    ]
}

/// Makes another thread hold a lock or queue for some time, and returns when that thread has it.
private func hold(for milliseconds: Int, _ take: @escaping @Sendable () -> Void, _ leave: @escaping @Sendable () -> Void) {
    let taken = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        take()
        taken.signal()
        usleep(UInt32(milliseconds) * 1_000)
        leave()
    }
    taken.wait()
}

private final class AuditLog: Sendable {
    private let entries = Mutex<[Int]>([])

    @inline(never) func add(_ entry: Int) -> Int {
        entries.withLock {
            $0.append(entry)
            return $0.count
        }
    }

    func occupy(for milliseconds: Int) {
        let taken = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            self.entries.withLock { _ in
                taken.signal()
                _ = usleep(UInt32(milliseconds) * 1_000)
            }
        }
        taken.wait()
    }
}

// Sendable without a check: the lock guards the names.
private final class Sessions: @unchecked Sendable {
    let lock = NSLock()
    private var names: [String] = []

    @inline(never) func add(_ name: String) -> Int {
        lock.lock()
        defer { lock.unlock() }
        names.append(name)
        return names.count
    }

    @inline(never) func addScoped(_ name: String) -> Int {
        lock.withLock {
            names.append(name)
            return names.count
        }
    }
}

private enum Catalog {
    static let lock = NSRecursiveLock()

    @inline(never) static func addTwice() -> Int {
        lock.lock()
        lock.lock()
        defer {
            lock.unlock()
            lock.unlock()
        }
        return 1
    }

    @inline(never) static func waitForChange() -> Int {
        let condition = NSCondition()
        Thread.detachNewThread {
            usleep(480_000)
            condition.lock()
            condition.signal()
            condition.unlock()
        }
        condition.lock()
        defer { condition.unlock() }
        return condition.wait(until: Date().addingTimeInterval(2)) ? 1 : 0
    }
}

// Sendable without a check: the mutex guards the number, and any thread may use it.
private final class Meter: @unchecked Sendable {
    let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var number = 0

    init() { pthread_mutex_init(mutex, nil) }

    @inline(never) func count() -> Int {
        pthread_mutex_lock(mutex)
        number += 1
        pthread_mutex_unlock(mutex)
        return number
    }
}

private enum Features {
    static let flags: [String: Bool] = {
        usleep(700_000)
        return ["search": true]
    }()

    @inline(never) static func isOn(_ name: String) -> Bool { flags[name] ?? false }
}

private final class ImageCache: Sendable {
    private let queue = DispatchQueue(label: "image-cache")

    @inline(never) func image(_ number: Int) -> Int { queue.sync { number + 1 } }
    func warm(_ milliseconds: Int) { queue.async { usleep(UInt32(milliseconds) * 1_000) } }
}

private enum LegacyCode {
    @inline(never) static func importAll(_ milliseconds: Int) -> Int {
        let done = DispatchSemaphore(value: 0)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { done.signal() }
        done.wait()
        return milliseconds
    }

    @inline(never) static func waitForGroup(_ milliseconds: Int) -> Int {
        let group = DispatchGroup()
        for part in 1...3 { DispatchQueue.global().async(group: group) { usleep(UInt32(milliseconds * part / 3) * 1_000) } }
        group.wait()
        return milliseconds
    }

    @inline(never) static func runOperations(_ milliseconds: Int) -> Int {
        let queue = OperationQueue()
        queue.addOperation { usleep(UInt32(milliseconds) * 1_000) }
        queue.waitUntilAllOperationsAreFinished()
        return milliseconds
    }

    @inline(never) static func runTask(_ milliseconds: Int) -> Int {
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            try? await Task.sleep(for: .milliseconds(milliseconds))
            done.signal()
        }
        done.wait()
        return milliseconds
    }

    @inline(never) static func computeInParallel(_ milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        let total = Atomic<Int>(0)
        while !deadline.isOver {
            DispatchQueue.concurrentPerform(iterations: 2) { part in
                var sum = part
                for number in 0..<200_000 { sum = sum &* 31 &+ number }
                total.add(sum & 1, ordering: .relaxed)
            }
        }
        return total.load(ordering: .relaxed)
    }
}

private final class Download: Sendable {
    private let body = Mutex<Data?>(nil)

    @inline(never) func fetch(_ address: URL) -> Int {
        let done = DispatchSemaphore(value: 0)
        URLSession.shared.dataTask(with: address) { data, _, _ in
            self.body.withLock { $0 = data }
            done.signal()
        }.resume()
        done.wait()
        return body.withLock { $0?.count ?? 0 }
    }
}
