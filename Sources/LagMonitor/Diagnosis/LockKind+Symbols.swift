package import LagModel

// What a thread waits for in a futex, by the functions on its stack: every lock sleeps in the same system call.
extension StallRecord.LockKind {
    /// Prefixes of names in glibc, libdispatch and Swift's runtime.
    private static let names: [(prefix: String, what: StallRecord.LockKind)] = [
        ("pthread_mutex_", .mutex), ("__pthread_mutex_", .mutex), ("___pthread_mutex_", .mutex),
        ("pthread_rwlock_", .readWrite), ("__pthread_rwlock_", .readWrite), ("___pthread_rwlock_", .readWrite),
        ("pthread_cond_", .condition), ("__pthread_cond_", .condition), ("___pthread_cond_", .condition), ("cnd_", .condition),
        ("sem_", .semaphore), ("__new_sem_", .semaphore), ("__sem_", .semaphore), ("dispatch_semaphore_", .semaphore),
        ("_dispatch_semaphore_", .semaphore), ("_dispatch_sema4_", .semaphore),
        ("dispatch_group_", .group), ("_dispatch_group_", .group),
        ("pthread_join", .thread), ("__pthread_clockjoin", .thread), ("__pthread_timedjoin", .thread),
        ("pthread_clockjoin", .thread), ("pthread_timedjoin", .thread), ("thrd_join", .thread),
        ("__DISPATCH_WAIT_FOR_QUEUE__", .queue), ("dispatch_sync", .queue), ("_dispatch_sync", .queue),
        ("dispatch_barrier_sync", .queue), ("_dispatch_barrier_sync", .queue), ("dispatch_async_and_wait", .queue),
        ("_dispatch_async_and_wait", .queue),
        ("dispatch_once", .owned), ("_dispatch_once", .owned), ("swift_once", .owned),
        ("swift::threading_impl::once_slow", .owned), ("std::call_once", .owned), ("pthread_once", .owned),
        ("__pthread_once", .owned), ("___pthread_once", .owned),
        ("__cxa_guard_acquire", .owned),
    ]

    /// Functions that only wait for a time, by a condition that is never met: HotSpot's, whether or not Java's frames are known.
    private static let sleeps = ["JVM_Sleep", "java.lang.Thread.sleep"]

    /// Whether it sleeps for a time, in what looks like a lock.
    /// - Parameter symbols: as for ``of(_:)``.
    package static func isSleep(_ symbols: some Sequence<String?>) -> Bool {
        symbols.contains { symbol in symbol.map { sleeps.contains(where: $0.hasPrefix) } ?? false }
    }

    /// - Parameter symbols: the simplified names from the leaf up to the program's own code; nil for a frame without one.
    /// - Returns: the kind by the matching name that is nearest to the leaf.
    package static func of(_ symbols: some Sequence<String?>) -> StallRecord.LockKind? {
        for symbol in symbols {
            guard let symbol else { continue }
            if let found = names.first(where: { symbol.hasPrefix($0.prefix) }) { return found.what }
        }
        return nil
    }
}
