internal import CLagBeacon
internal import CLagLinux
internal import Glibc
internal import LagDetection
internal import LagRunLoop

/// A named thread of the monitor's own, with signals blocked: the host's signals are the host's.
package final class WorkerThread: Sendable {
    private let thread: SystemThread
    private let ended = WakeSemaphore()

    /// Enough for the deepest call (symbolisation on the reporter), little enough not to be felt.
    private static let stackBytes = 512 * 1024

    /// A thread's own mistakes: where they are blocked, the kernel ends the process without having asked the host's crash handler.
    private static let faults = [SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGABRT]
    /// What libdispatch leaves open besides on the threads it makes: a broken pipe, profiling.
    private static let dispatchSignals = [SIGPIPE, SIGPROF]

    /// - Parameters:
    ///   - name: at most 15 bytes, as the kernel keeps it.
    ///   - submitsToQueues: leaves those signals open that Dispatch leaves open. It makes its threads in the call that submits, with the
    ///     caller's mask, to which it only adds; they are the host's, and from a thread that blocks everything they could not be captured.
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

    /// Waits for the thread's end until `deadline` (`CLOCK_MONOTONIC`, nanoseconds), then lets go of it.
    /// - Returns: whether it ended.
    package func join(until deadline: UInt64) -> Bool {
        guard ended.wait(until: deadline) else {
            thread.detach()
            return false
        }
        return thread.join()
    }
}
