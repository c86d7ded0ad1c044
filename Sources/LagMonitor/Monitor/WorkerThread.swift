internal import CLibunwind
internal import Glibc
internal import LagDetection
internal import LagRunLoop

/// A named thread of the monitor's own. The host's signals are the host's: it has them blocked, but for those that a fault of its own
/// raises, which a crash reporter of the host's wants to see.
///
/// What such a thread starts inherits its mask, and libdispatch starts threads on whoever gives it work: a thread that does so leaves open
/// what libdispatch leaves open on its workers (`_dispatch_sigmask` of swift-corelibs-libdispatch). Otherwise tasks of the host's would run with
/// signals blocked that profilers use.
final class WorkerThread: Sendable {
    private let thread: SystemThread
    private let ended = WakeSemaphore()

    /// Enough for the deepest call (symbolisation on the reporter), little enough not to be felt.
    private static let stackBytes = 512 * 1024

    private static let faults = [SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS]

    /// - Parameters:
    ///   - name: at most 15 bytes, as the kernel keeps it.
    ///   - open: further signals that it does not block.
    init(name: String, leavingOpen open: [Int32] = [], _ run: @escaping @Sendable () -> Void) throws(LagMonitorError) {
        // The new thread inherits the mask, so it never runs with any other signal open.
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        for signal in Self.faults + open { sigdelset(&blocked, signal) }
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
    func join(until deadline: UInt64) -> Bool {
        guard ended.wait(until: deadline) else {
            thread.detach()
            return false
        }
        return thread.join()
    }
}
