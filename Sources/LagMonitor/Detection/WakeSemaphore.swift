internal import CLibunwind
internal import Glibc

/// A POSIX semaphore with waits on `CLOCK_MONOTONIC`: neither `sem_timedwait` nor libdispatch's timed wait on Linux
/// will do, because they follow the wall clock and misfire when it is set.
// Unchecked: a semaphore is made to be shared, and the pointer is immutable.
package final class WakeSemaphore: @unchecked Sendable {
    let raw: UnsafeMutablePointer<sem_t>

    package init() {
        raw = .allocate(capacity: 1)
        raw.initialize(to: sem_t())
        sem_init(raw, 0, 0)
    }

    deinit {
        sem_destroy(raw)
        raw.deallocate()
    }

    /// Any thread; async-signal-safe.
    package func post() { sem_post(raw) }

    /// - Parameter deadline: `CLOCK_MONOTONIC` nanoseconds; `.max` waits without end.
    /// - Returns: whether it was posted (and not timed out).
    package func wait(until deadline: UInt64) -> Bool { clu_sem_wait_until(raw, deadline) != 0 }

    /// Takes all posts that are there.
    package func drain() { while sem_trywait(raw) == 0 {} }
}
