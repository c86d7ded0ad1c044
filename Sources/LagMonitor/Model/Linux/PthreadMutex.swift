package import Glibc

/// A value guarded by a plain pthread mutex.
///
/// `Synchronization.Mutex` of the Swift 6.3 toolchain is a priority-inheriting futex that hands itself over through the kernel as soon as
/// two threads meet: eight threads that append 50,000 elements each need 8 s with it and 35 ms with this one. Nor does ThreadSanitizer
/// see that hand-over, and it reports what such a mutex guards; this one it knows.
///
/// Any thread; not recursive. Cost: one allocation for its lifetime, some 20 ns a lock without contention, in every module: all of it can be
/// inlined.
// Sendable without a check: the only stored property is an immutable pointer to memory that lives as long as this object; the value in
// it is reached with the mutex locked alone.
@frozen package struct PthreadMutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    /// The mutex needs an address that never changes, so it lies on the heap, and the value with it.
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
        // Fails for attributes alone, and there are none.
        _ = pthread_mutex_init(mutex, nil)
    }

    @inlinable deinit {
        _ = pthread_mutex_destroy(mutex)
        storage.deinitialize(count: 1)
        storage.deallocate()
    }

    /// Runs `body` with the value, while no other thread has it. Nothing that calls out to a user's code belongs into `body`: neither a
    /// callback nor the last release of what a user gave.
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
