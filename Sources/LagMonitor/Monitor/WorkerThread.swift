internal import CLibunwind
internal import Glibc
internal import LagDetection

/// A named thread of the monitor's own, with every signal blocked: the host's signals are the host's.
final class WorkerThread: Sendable {
    private let thread: pthread_t
    private let ended: WakeSemaphore

    /// Enough for the deepest call (symbolisation on the reporter), little enough not to be felt.
    private static let stackBytes = 512 * 1024

    private final class Body: Sendable {
        let name: String
        let run: @Sendable () -> Void
        let ended: WakeSemaphore
        init(name: String, run: @escaping @Sendable () -> Void, ended: WakeSemaphore) {
            self.name = name
            self.run = run
            self.ended = ended
        }
    }

    /// - Parameter name: at most 15 bytes, as the kernel keeps it.
    init(name: String, _ run: @escaping @Sendable () -> Void) throws(LagMonitorError) {
        let ended = WakeSemaphore()
        let body = Unmanaged.passRetained(Body(name: name, run: run, ended: ended))
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, Self.stackBytes)
        // The new thread inherits the mask, so it never runs with any signal open.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let error = pthread_create(
            &thread,
            &attributes,
            { argument in
                let body = Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue()
                _ = clu_thread_set_name(pthread_self(), body.name)
                body.run()
                body.ended.post()
                return nil
            },
            body.toOpaque()
        )
        guard error == 0 else {
            body.release()
            throw .resources(reason: "cannot start the thread \(name): \(String(cString: strerror(error)))")
        }
        self.thread = thread
        self.ended = ended
    }

    /// Waits for the thread's end until `deadline` (`CLOCK_MONOTONIC`, nanoseconds), then lets go of it.
    /// - Returns: whether it ended.
    func join(until deadline: UInt64) -> Bool {
        guard ended.wait(until: deadline) else {
            pthread_detach(thread)
            return false
        }
        pthread_join(thread, nil)
        return true
    }
}
