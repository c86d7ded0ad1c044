internal import CLibunwind
internal import Glibc
internal import LagDetection
internal import LagRunLoop

/// A named thread of the monitor's own, with every signal blocked: the host's signals are the host's.
final class WorkerThread: Sendable {
    private let thread: SystemThread
    private let ended = WakeSemaphore()

    /// Enough for the deepest call (symbolisation on the reporter), little enough not to be felt.
    private static let stackBytes = 512 * 1024

    /// - Parameter name: at most 15 bytes, as the kernel keeps it.
    init(name: String, _ run: @escaping @Sendable () -> Void) throws(LagMonitorError) {
        // The new thread inherits the mask, so it never runs with any signal open.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
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
