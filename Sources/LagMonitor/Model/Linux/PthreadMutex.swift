package import Glibc

/// A value guarded by a plain pthread mutex.
///
/// `Synchronization.Mutex` of the Swift 6.3 toolchain is a priority-inheriting futex: as soon as two threads contend, it is
/// handed over through the kernel. Eight threads that append 50,000 elements each need 8 s with it and 35 ms with this one.
/// ThreadSanitizer does not see that hand-over, and reports what such a mutex guards; it knows this one.
///
/// Any thread; not recursive. Cost: one allocation for its lifetime, some 20 ns per lock without contention. All of it can be
/// inlined into every module.
// Sendable without a check: the only stored property is an immutable pointer to memory that lives as long as this object; the
// value in it is accessed only with the mutex locked.
@frozen package struct PthreadMutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    /// The mutex needs an address that never changes, so it is on the heap, together with the value.
    @frozen @usableFromInline struct Storage: ~Copyable {
        @usableFromInline var mutex: pthread_mutex_t
        @usableFromInline var value: Value

        @inlinable init(_ value: consuming Value) {
            mutex = pthread_mutex_t()
            self.value = value
        }
    }

    @usableFromInline let storage: UnsafeMutablePointer<Storage>

    @inlinable package init(_ value: consuming sending Value) {
        storage = .allocate(capacity: 1)
        storage.initialize(to: Storage(value))
        // It can fail only because of attributes, and none are passed.
        _ = pthread_mutex_init(mutex, nil)
    }

    @inlinable deinit {
        _ = pthread_mutex_destroy(mutex)
        storage.deinitialize(count: 1)
        storage.deallocate()
    }

    /// Runs `body` with the value, while no other thread has it. `body` must not call a user's code: neither a callback nor the
    /// last release of a user's object.
    @inlinable @inline(__always)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&storage.pointee.value)
    }

    /// The first property of the storage: at its address.
    @inlinable var mutex: UnsafeMutablePointer<pthread_mutex_t> {
        UnsafeMutableRawPointer(storage).assumingMemoryBound(to: pthread_mutex_t.self)
    }
}
