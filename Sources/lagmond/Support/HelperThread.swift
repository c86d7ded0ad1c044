internal import LagMonitor

/// A detached thread of lagmond, named by its role: `ps -L`, `top -H` and a debugger show what it does.
///
/// It inherits the signal mask, so ``StopSignals`` stay blocked in it.
enum HelperThread {
    /// - Parameter name: at most 15 bytes, the kernel's limit.
    /// - Throws: ``StartFailure`` if the system cannot start a thread.
    static func start(_ name: String, _ run: @escaping @Sendable () -> Void) throws(StartFailure) {
        do {
            try ObservedRunLoop.performInBackground(name: name, run)
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "no thread: \(error)")
        }
    }
}
