internal import LagMonitor

/// A detached thread for the workload's helpers: the filler of a pipe, the holder of a mutex, the slow server.
///
/// A dedicated thread instead of a pool's: a helper must not wait for a free worker, or the stall would be longer
/// than requested. It inherits the signal mask of the thread that starts it.
package enum WorkloadThread {
    package static func start(_ run: @escaping @Sendable () -> Void) throws(WorkloadError) {
        do {
            try ObservedRunLoop.performInBackground(name: "workload", run)
        } catch {
            throw WorkloadError(error)
        }
    }
}
