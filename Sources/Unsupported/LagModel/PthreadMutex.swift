internal import Dispatch

/// A value guarded by a lock: what Dispatch has on every platform, in place of a pthread mutex.
// Sendable without a check: the value is reached with the semaphore taken alone.
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
