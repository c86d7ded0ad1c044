internal import Glibc
internal import LagMonitor

/// A C object on the heap that is never freed, so that a thread may use it until the process exits.
// Sendable without a check: the pointer never changes, its memory lives as long as the process, and its types can be used from
// any thread (mutex, read-write lock, condition variable, semaphore), or never change (an address).
struct Immortal<Value>: @unchecked Sendable {
    let raw: UnsafeMutablePointer<Value>

    init(_ value: Value, _ setUp: (UnsafeMutablePointer<Value>) -> Void) {
        raw = .allocate(capacity: 1)
        raw.initialize(to: value)
        setUp(raw)
    }
}

typealias ThreadMutex = Immortal<pthread_mutex_t>

extension ThreadMutex {
    init() { self.init(pthread_mutex_t()) { pthread_mutex_init($0, nil) } }

    func lock() { pthread_mutex_lock(raw) }
    func unlock() { pthread_mutex_unlock(raw) }

    /// Makes another thread hold it until `end`, and returns when that thread has it.
    func lockOnThread(named name: String, until end: MonotonicTime) throws {
        let held = Gate()
        try helper(name) {
            lock()
            held.open()
            rest(until: end)
            unlock()
        }
        held.wait()
    }
}
