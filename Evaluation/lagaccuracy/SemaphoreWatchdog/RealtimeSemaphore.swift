internal import CLagBeacon
internal import Glibc
internal import LagMonitor
internal import Synchronization

/// A semaphore whose timed wait follows the wall clock, like `sem_timedwait` and libdispatch's `dispatch_semaphore_wait` on
/// Linux: when the wait begins, the timeout becomes a time of `CLOCK_REALTIME`, so setting that clock moves the end of the wait.
///
/// Uses either the kernel's clock (then it *is* `sem_timedwait`), or a simulated clock, which starts like the kernel's and can
/// be stepped, for machines whose clock must not be changed.
// Unchecked: a semaphore is designed to be shared, the pointer is immutable, the rest is atomic.
final class RealtimeSemaphore: @unchecked Sendable {
    private let raw: UnsafeMutablePointer<sem_t>
    private let isFaked: Bool
    /// The offset of the simulated clock from `CLOCK_MONOTONIC`.
    private let offset = Atomic<Int64>(0)
    /// The number of posts that only announce a step.
    private let stepWakeups = Atomic<Int>(0)

    init(isFaked: Bool) {
        self.isFaked = isFaked
        raw = .allocate(capacity: 1)
        raw.initialize(to: sem_t())
        sem_init(raw, 0, 0)
    }

    deinit {
        sem_destroy(raw)
        raw.deallocate()
    }

    func post() { sem_post(raw) }

    /// Sets the simulated clock forward or back; a wait in progress ends according to the new time.
    func step(byNanoseconds step: Int64) {
        offset.add(step, ordering: .sequentiallyConsistent)
        stepWakeups.add(1, ordering: .sequentiallyConsistent)
        sem_post(raw)
    }

    /// - Returns: whether it was posted; false on timeout.
    func wait(nanoseconds: Int64) -> Bool { isFaked ? waitFaked(nanoseconds) : waitKernel(nanoseconds) }

    private func waitKernel(_ nanoseconds: Int64) -> Bool {
        var deadline = timespec()
        clock_gettime(CLOCK_REALTIME, &deadline)
        let sum = Int64(deadline.tv_nsec) + nanoseconds
        deadline.tv_sec += Int(sum / 1_000_000_000)
        deadline.tv_nsec = Int(sum % 1_000_000_000)
        while sem_timedwait(raw, &deadline) != 0 { if errno != EINTR { return false } }
        return true
    }

    private var fakedNow: Int64 {
        Int64(MonotonicTime.now.nanoseconds) + offset.load(ordering: .sequentiallyConsistent)
    }

    private func waitFaked(_ nanoseconds: Int64) -> Bool {
        let deadline = fakedNow + nanoseconds
        while true {
            let left = deadline - fakedNow
            guard left > 0 else { return sem_trywait(raw) == 0 && !takeStepWakeup() }
            guard clb_sem_wait_until(raw, MonotonicTime.now.nanoseconds + UInt64(left)) != 0 else { continue }
            if !takeStepWakeup() { return true }
        }
    }

    /// Takes one announcement of a step, if there is one. The semaphore's count is correct regardless of which post was taken.
    private func takeStepWakeup() -> Bool {
        guard stepWakeups.load(ordering: .sequentiallyConsistent) > 0 else { return false }
        stepWakeups.subtract(1, ordering: .sequentiallyConsistent)
        return true
    }
}
