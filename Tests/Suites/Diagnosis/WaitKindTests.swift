import LagDiagnosis
internal import LagModel
import Testing

struct WaitKindTests {
    /// As glibc 2.36, libdispatch and Swift's runtime name them, leaf first.
    @Test(arguments: [
        (["__futex_abstimed_wait_common", "__lll_lock_wait", "pthread_mutex_lock"], StallRecord.LockKind.mutex),
        (["__lll_lock_wait", "___pthread_mutex_lock"], .mutex),
        (["futex_wait", "__pthread_rwlock_wrlock_full64", "__pthread_rwlock_wrlock"], .readWrite),
        (["__futex_abstimed_wait_common64", "___pthread_cond_wait"], .condition),
        (["__futex_abstimed_wait_common64", "pthread_cond_timedwait@@GLIBC_2.3.2"], .condition),
        (["__futex_abstimed_wait_common64", "__new_sem_wait_slow64"], .semaphore),
        (["__new_sem_wait_slow64", "_dispatch_sema4_wait", "_dispatch_semaphore_wait_slow"], .semaphore),
        (["syscall", "_dispatch_futex_wait", "_dispatch_group_wait_slow"], .group),
        (["__futex_abstimed_wait_common64", "__pthread_clockjoin_ex"], .thread),
        (["syscall", "_dispatch_thread_event_wait_slow", "__DISPATCH_WAIT_FOR_QUEUE__", "_dispatch_sync_f_slow"], .queue),
        (["syscall", "_dispatch_once_wait", "dispatch_once_f"], .owned),
        (["syscall", "__pthread_once_slow", "swift_once"], .owned),
        (["syscall", "swift::threading_impl::once_slow"], .owned),
        (["futex_wait", "__pthread_once_slow", "___pthread_once"], .owned), (["syscall", "__cxa_guard_acquire"], .owned),
    ])
    func `the kind of a lock is derived from the functions on the stack`(symbols: [String], expected: StallRecord.LockKind) {
        #expect(StallRecord.LockKind.of(symbols) == expected)
    }

    @Test func `the name nearest to the leaf decides`() {
        #expect(StallRecord.LockKind.of(["__lll_lock_wait", "pthread_mutex_lock", "dispatch_sync", "pthread_join"]) == .mutex)
        #expect(StallRecord.LockKind.of([nil, "pthread_cond_wait", nil, "pthread_mutex_lock"]) == .condition)
    }

    @Test func `names of other functions give no lock kind`() {
        #expect(StallRecord.LockKind.of([String?]()) == nil)
        #expect(StallRecord.LockKind.of([nil, "syscall", "read", "my_pthread_mutex_lock", "semantics"]) == nil)
    }
}
