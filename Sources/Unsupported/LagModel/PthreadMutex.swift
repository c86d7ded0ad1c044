internal import Dispatch

/// A value guarded by a lock: a semaphore of Dispatch, which exists on every platform, instead of a pthread mutex.
// Unchecked: the value is only accessed while holding the semaphore.
package final class PthreadMutex<Value>: @unchecked Sendable {
    private let semaphore = DispatchSemaphore(value: 1)
    private var value: Value

    package init(_ value: sending Value) { self.value = value }

    package func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        semaphore.wait()
        defer { semaphore.signal() }
        return try body(&value)
    }
}
