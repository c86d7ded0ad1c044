internal import LagMonitor

/// A plain detached thread for the workload's helpers: the filler of a pipe, the holder of a mutex, the slow server.
///
/// A thread of its own rather than a pool's: a helper must not wait for a free worker, or the stall would be longer
/// than asked. Signals are blocked in it, as in every thread of lagmond that is started after ``StopSignals/block()``.
package enum WorkerThread {
    package static func start(_ run: @escaping @Sendable () -> Void) throws(WorkloadError) {
        do {
            try ObservedRunLoop.performInBackground(name: "workload", run)
        } catch {
            throw WorkloadError(error)
        }
    }
}
