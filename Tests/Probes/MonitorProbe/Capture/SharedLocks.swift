internal import CLagBeacon
internal import CLagLinux
import Dispatch
import Glibc
import StallFixtures
import Synchronization

// What the scenarios of waiting threads share.

final class MutexBox: Sendable { let mutex = Mutex(0) }

/// A number that threads wait for by polling it.
final class Gate: Sendable {
    private let number = Atomic<Int32>(0)

    var value: Int32 {
        get { number.load(ordering: .acquiring) }
        set { number.store(newValue, ordering: .releasing) }
    }

    func add() { number.add(1, ordering: .acquiringAndReleasing) }
}

/// A block that keeps a queue busy for ever, and the thread that runs it.
struct Worker {
    let tid: Int32

    init(on queue: DispatchQueue, flags: DispatchWorkItemFlags = []) {
        let running = Gate()
        queue.async(flags: flags) {
            running.value = CaptureScenarios.gettid()
            while true { poll(nil, 0, -1) }
        }
        while running.value == 0 { usleep(1000) }
        tid = running.value
    }
}

// Unchecked, all of these: they are designed to be shared, and never freed.

final class SharedMutex: @unchecked Sendable {
    private let raw = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init(_ kind: Int32? = nil, explicitly: Bool = false, priority: Bool = false, robust: Bool = false) {
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        if let kind, explicitly || kind != Int32(PTHREAD_MUTEX_TIMED_NP) { pthread_mutexattr_settype(&attributes, kind) }
        if priority { pthread_mutexattr_setprotocol(&attributes, Int32(PTHREAD_PRIO_INHERIT)) }
        if robust { pthread_mutexattr_setrobust(&attributes, Int32(PTHREAD_MUTEX_ROBUST)) }
        pthread_mutex_init(raw, &attributes)
    }

    func lock() { pthread_mutex_lock(raw) }

    func lock(seconds: Int) {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        time.tv_sec += seconds
        pthread_mutex_timedlock(raw, &time)
    }
}

final class SharedReadWriteLock: @unchecked Sendable {
    private let raw = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)

    init(prefersWriters: Bool = false) {
        var attributes = pthread_rwlockattr_t()
        pthread_rwlockattr_init(&attributes)
        if prefersWriters {
            pthread_rwlockattr_setkind_np(&attributes, Int32(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP))
        }
        pthread_rwlock_init(raw, &attributes)
    }

    func read() { pthread_rwlock_rdlock(raw) }
    func write() { pthread_rwlock_wrlock(raw) }
}

final class SharedSemaphore: @unchecked Sendable {
    private let raw = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(raw, 0, 0) }
    func wait() { sem_wait(raw) }
}

final class SharedCondition: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let raw = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(raw, nil)
    }

    func wait() {
        pthread_mutex_lock(mutex)
        pthread_cond_wait(raw, mutex)
    }
}

/// A plain number used as a futex, like an event count.
final class SharedNumber: @unchecked Sendable {
    private let raw = UnsafeMutablePointer<UInt32>.allocate(capacity: 8)

    init(_ value: UInt32) {
        raw.initialize(repeating: 0, count: 8)
        raw.pointee = value
    }

    func wait() { while true { fixture_futex_wait(raw, raw.pointee) } }
}

/// A `pthread_once_t`, followed by the words of a mutex: an owner, one user, the usual kind.
final class OnceBesideNumber: @unchecked Sendable {
    private let words = UnsafeMutablePointer<Int32>.allocate(capacity: 8)
    fileprivate static let begun = Gate()

    init(_ number: Int32) {
        words.initialize(repeating: 0, count: 8)
        (words[2], words[3]) = (number, 1)
    }

    var isBegun: Bool { Self.begun.value != 0 }

    /// The first call never returns, and so no other does.
    func call() { pthread_once(words) { beginForever() } }
}

// A separate function: the Swift 6.3 compiler crashes at this loop in a closure that is passed to C.
private func beginForever() {
    OnceBesideNumber.begun.value = 1
    while true { poll(nil, 0, -1) }
}

/// A condition directly followed by its mutex, which code that reads a lock's memory may mistake for part of it.
final class ConditionAndMutex: @unchecked Sendable {
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        let size = MemoryLayout<pthread_cond_t>.stride
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size + MemoryLayout<pthread_mutex_t>.stride, alignment: 16)
        condition = memory.bindMemory(to: pthread_cond_t.self, capacity: 1)
        mutex = (memory + size).bindMemory(to: pthread_mutex_t.self, capacity: 1)
        pthread_cond_init(condition, nil)
        pthread_mutex_init(mutex, nil)
    }

    /// In the condition's second group of waiters, whose futex is nearer to the mutex.
    func wait() {
        pthread_mutex_lock(mutex)
        var soon = timespec()
        clock_gettime(CLOCK_REALTIME, &soon)
        pthread_cond_timedwait(condition, mutex, &soon)
        pthread_cond_signal(condition)
        pthread_cond_wait(condition, mutex)
    }
}
