import CLagBeacon
internal import CLagLinux
import Dispatch
import Glibc
import LagMonitor
import Synchronization
import TestSupport

extension RawMutex {
    /// Unlocks it in place of its owner, which glibc does not check: this ends a deadlock.
    func unlock(after hold: @escaping @Sendable () -> Void) {
        DispatchQueue.global().async {
            hold()
            self.unlock()
        }
    }
    /// Whether a thread waits for it (glibc's word for that). Not for a robust one.
    var isWanted: Bool { raw.pointee.__data.__lock == 2 }
}

// Unchecked: a lock is designed to be shared. Never freed.
final class RawReadWriteLock: @unchecked Sendable {
    let raw = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)

    init() { pthread_rwlock_init(raw, nil) }
    func read() { pthread_rwlock_rdlock(raw) }
    func unlock() { pthread_rwlock_unlock(raw) }
}

@inline(never) func writeLockForTheTest(_ lock: RawReadWriteLock) {
    pthread_rwlock_wrlock(lock.raw)
    pthread_rwlock_unlock(lock.raw)
}

/// A stream to /dev/null.
// Unchecked: a FILE is made to be shared. Never closed.
final class RawStream: @unchecked Sendable {
    private let raw = fopen("/dev/null", "w")!  // it is there

    func lock() { flockfile(raw) }
    func unlock() { funlockfile(raw) }
    func write() { fputs("text", raw) }
}

@inline(never) func writeForTheTest(_ stream: RawStream) {
    stream.write()
}

@inline(never) func lockForTheTest(_ mutex: RawMutex) {
    pthread_mutex_lock(mutex.raw)
    pthread_mutex_unlock(mutex.raw)
}

/// - Returns: false if it timed out.
@inline(never) func timedLockForTheTest(_ mutex: RawMutex, milliseconds: Int) -> Bool {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let nanoseconds = time.tv_nsec + milliseconds * 1_000_000
    time.tv_sec += nanoseconds / 1_000_000_000
    time.tv_nsec = nanoseconds % 1_000_000_000
    let result = pthread_mutex_timedlock(mutex.raw, &time)
    return result == 0
}

/// Uses that much processor time, however long that takes.
@inline(never) func computeForTheTest(milliseconds: Int) {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    let end = time.tv_sec * 1000 + time.tv_nsec / 1_000_000 + milliseconds
    var number: UInt64 = 1
    repeat {
        // Reading this clock is a system call, which must not be what the sample finds.
        for _ in 0..<20_000 { number = number &* 6_364_136_223_846_793_005 &+ 1 }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    } while time.tv_sec * 1000 + time.tv_nsec / 1_000_000 < end || number == 0
}

@inline(never) func holdForTheTest(until end: DispatchSemaphore) {
    end.wait()
}

func gettid() -> Int32 { ThreadIdentity.current.tid }

/// A thread's number, passed from one thread to another.
final class Atomically: Sendable {
    private let number = Atomic<Int32>(0)

    var value: Int32 { number.load(ordering: .acquiring) }
    func set(_ value: Int32) { number.store(value, ordering: .releasing) }
}

/// A thread that holds a lock from its creation until the end of what ``begin(_:)`` passes: what a test prepares before may take
/// its time.
final class Holder: Sendable {
    private final class Hold: Sendable {
        let lock: @Sendable () -> Void
        let unlock: @Sendable () -> Void
        let running = Atomically()
        let end = DispatchSemaphore(value: 0)

        init(_ lock: @escaping @Sendable () -> Void, _ unlock: @escaping @Sendable () -> Void) {
            self.lock = lock
            self.unlock = unlock
        }

        func run() {
            _ = cll_thread_set_name(pthread_self(), "holder")
            lock()
            running.set(gettid())
            holdForTheTest(until: end)
            unlock()
        }
    }

    private let hold: Hold
    private let thread: pthread_t

    var tid: Int32 { hold.running.value }

    /// - Parameter other: locked before the first one is released.
    convenience init(of mutex: RawMutex, thenOf other: RawMutex? = nil) {
        self.init(
            locking: { mutex.lock() },
            unlocking: {
                other?.lock()
                other?.unlock()
                mutex.unlock()
            }
        )
    }

    init(locking lock: @escaping @Sendable () -> Void, unlocking unlock: @escaping @Sendable () -> Void) {
        hold = Hold(lock, unlock)
        var created = pthread_t()
        pthread_create(
            &created,
            nil,
            { argument in
                Unmanaged<Hold>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            },
            Unmanaged.passRetained(hold).toOpaque()
        )
        thread = created
        while hold.running.value == 0 { usleep(500) }
    }

    /// - Parameter body: it holds the lock until this ends, which runs on another thread.
    func begin(_ body: @escaping @Sendable () -> Void = {}) {
        DispatchQueue.global().async { [hold] in
            body()
            hold.end.signal()
        }
    }

    func join() { pthread_join(thread, nil) }
}
