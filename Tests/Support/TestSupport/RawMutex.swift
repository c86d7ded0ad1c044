public import Glibc

/// A mutex of the C library.
// Unchecked: a mutex is designed to be shared. Never freed.
public final class RawMutex: @unchecked Sendable {
    public let raw = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    public init(kind: Int32? = nil, isRobust: Bool = false) {
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        if let kind { pthread_mutexattr_settype(&attributes, kind) }
        if isRobust { pthread_mutexattr_setrobust(&attributes, Int32(PTHREAD_MUTEX_ROBUST)) }
        pthread_mutex_init(raw, &attributes)
    }

    public func lock() { pthread_mutex_lock(raw) }
    public func unlock() { pthread_mutex_unlock(raw) }
}
