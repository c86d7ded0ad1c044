internal import CLagBeacon
internal import CLagLinux
internal import Glibc
internal import LagDetection
internal import LagRunLoop

/// A named thread of the monitor, with signals blocked: the host handles its signals on its own threads.
package final class WorkerThread: Sendable {
    private let thread: SystemThread
    private let ended = WakeSemaphore()

    /// Enough for the deepest call (symbolication on the reporter), and small enough not to matter.
    private static let stackBytes = 512 * 1024

    /// Faults of the thread itself. If they are blocked, the kernel kills the process without running the host's crash handler.
    private static let faults = [SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGABRT]
    /// Signals that libdispatch also leaves open on the threads it creates: a broken pipe, profiling.
    private static let dispatchSignals = [SIGPIPE, SIGPROF]

    /// - Parameters:
    ///  - name: at most 15 bytes, the kernel's limit.
    ///   - submitsToQueues: leaves open the signals that Dispatch leaves open. Dispatch creates threads inside the submitting
    ///     call; they inherit the caller's mask, to which Dispatch only adds. These threads are the host's, and if the caller
    ///     blocked every signal, they could not be captured.
    package init(name: String, submitsToQueues: Bool, _ run: @escaping @Sendable () -> Void) throws(StallMonitorError) {
        // The new thread inherits the mask, so it never runs with any other signal open.
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        for signal in Self.faults { sigdelset(&blocked, signal) }
        if submitsToQueues { for signal in Self.dispatchSignals { sigdelset(&blocked, signal) } }
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let ended = ended
        do {
            thread = try SystemThread.start(name: name, stackBytes: Self.stackBytes) {
                run()
                ended.post()
            }
        } catch {
            throw .resources(reason: "\(error)")
        }
    }

    /// Waits for the thread's end until `deadline` (`CLOCK_MONOTONIC`, nanoseconds), then detaches it.
    /// - Returns: whether it ended.
    package func join(until deadline: UInt64) -> Bool {
        guard ended.wait(until: deadline) else {
            thread.detach()
            return false
        }
        return thread.join()
    }
}
