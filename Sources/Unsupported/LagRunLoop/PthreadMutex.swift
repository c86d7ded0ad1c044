internal import Dispatch

/// A value guarded by a lock, with what Dispatch has on every platform in place of a pthread mutex.
// Sendable without a check: the only stored properties are a semaphore and an immutable pointer to memory that lives as long as this
// object; the value in it is reached with the semaphore taken alone.
package struct PthreadMutex<Value>: ~Copyable, @unchecked Sendable {
    private let semaphore = DispatchSemaphore(value: 1)
    private let storage: UnsafeMutablePointer<Value>

    package init(_ value: sending Value) {
        storage = .allocate(capacity: 1)
        storage.initialize(to: value)
    }

    deinit {
        storage.deinitialize(count: 1)
        storage.deallocate()
    }

    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        semaphore.wait()
        defer { semaphore.signal() }
        return try body(&storage.pointee)
    }
}
