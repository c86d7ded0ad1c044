internal import Glibc

/// A plain detached thread for the workload's helpers: the filler of a pipe, the holder of a mutex, the slow server.
///
/// A thread of its own rather than a pool's: a helper must not wait for a free worker, or the stall would be longer
/// than asked.
enum WorkerThread {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a thread. Signals are blocked in it, as in every thread of lagmond that was started after ``StopSignals/block()``.
    static func start(_ run: @escaping @Sendable () -> Void) throws(WorkloadTrouble) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let body = Unmanaged.passRetained(Body(run))
        var thread = pthread_t()
        let code = pthread_create(
            &thread,
            &attributes,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            },
            body.toOpaque()
        )
        if code != 0 {
            body.release()
            throw WorkloadTrouble(call: "pthread_create", code: code)
        }
    }
}
