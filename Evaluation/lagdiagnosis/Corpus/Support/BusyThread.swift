internal import Glibc
internal import LagMonitor

/// A thread that computes until a time and can be joined.
struct BusyThread {
    let thread: pthread_t

    init(until end: MonotonicTime) throws {
        let argument = UnsafeMutablePointer<MonotonicTime>.allocate(capacity: 1)
        argument.initialize(to: end)
        var thread = pthread_t()
        let code = pthread_create(
            &thread,
            nil,
            { argument in
                guard let end = argument?.load(as: MonotonicTime.self) else { return nil }
                _ = countPrimes(until: end)
                return nil
            },
            argument
        )
        guard code == 0 else { throw Unavailable("pthread_create", errno: code) }
        self.thread = thread
    }
}
