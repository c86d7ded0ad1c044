internal import Glibc
internal import LagMonitor
internal import Synchronization

// Kinds that wait for a mutex: lock, hang.

/// A mutex of the workload, never freed: a thread may still hold it when its step is over.
// Unchecked: the pointer never changes and its memory is never freed; any thread may use a pthread mutex.
struct WorkloadMutex: @unchecked Sendable {
    let raw: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        raw = .allocate(capacity: 1)
        raw.initialize(to: pthread_mutex_t())
        pthread_mutex_init(raw, nil)
    }
}

/// Opens once; from then on waiting threads pass.
private final class Gate: Sendable {
    private let isOpen = Atomic(false)

    func open() { isOpen.store(true, ordering: .releasing) }

    /// Waits some microseconds, as long as a thread needs to start.
    func wait() {
        while !isOpen.load(ordering: .acquiring) { usleep(50) }
    }
}

/// A mutex that another thread holds until a time.
struct HeldMutex {
    /// One for all steps: they come one after the other, and each leaves it free.
    private static let mutex = WorkloadMutex()
    var raw: UnsafeMutablePointer<pthread_mutex_t> { Self.mutex.raw }

    init(until deadline: MonotonicTime) throws(WorkloadError) {
        let mutex = Self.mutex
        let held = Gate()
        try WorkloadThread.start {
            pthread_mutex_lock(mutex.raw)
            held.open()
            sleepUntil(deadline)
            pthread_mutex_unlock(mutex.raw)
        }
        held.wait()
    }
}

/// Waits for the mutex, and gives it back at once.
@inline(never)
func acquireHeldMutex(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) {
    pthread_mutex_lock(mutex)
    pthread_mutex_unlock(mutex)
}

/// Two mutexes, the second of them held by a thread that waits for the first.
struct DeadlockedPair {
    let first: UnsafeMutablePointer<pthread_mutex_t>
    let second: UnsafeMutablePointer<pthread_mutex_t>

    /// - Parameter deadline: when a third thread ends the deadlock; nil: never.
    init(releasedAt deadline: MonotonicTime?) throws(WorkloadError) {
        let (first, second) = (WorkloadMutex(), WorkloadMutex())
        let held = Gate()
        pthread_mutex_lock(first.raw)
        try WorkloadThread.start {
            pthread_mutex_lock(second.raw)
            held.open()
            pthread_mutex_lock(first.raw)
            // Not a tail call, which would leave no frame of this function.
            pthread_mutex_unlock(first.raw)
        }
        held.wait()
        if let deadline {
            try WorkloadThread.start {
                sleepUntil(deadline)
                // On behalf of the other thread: for default mutexes, glibc does not check the owner.
                pthread_mutex_unlock(second.raw)
            }
        }
        (self.first, self.second) = (first.raw, second.raw)
    }
}

/// Holds the first mutex and waits for the second, whose holder waits for the first: never returns.
@inline(never)
func lockInOppositeOrder(_ first: UnsafeMutablePointer<pthread_mutex_t>, _ second: UnsafeMutablePointer<pthread_mutex_t>) {
    pthread_mutex_lock(second)
    pthread_mutex_unlock(second)
    pthread_mutex_unlock(first)
}
