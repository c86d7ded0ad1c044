internal import CLagBeacon
internal import CLagLinux
internal import Foundation
internal import LagActivity
internal import LagCapture
internal import Synchronization

/// A plain thread that runs one body, and whose kernel thread ID is known.
final class BenchThread: Sendable {
    private let thread: pthread_t
    /// The thread's data for captures.
    let target: ThreadIdentity

    private final class Start: Sendable {
        let body: @Sendable () -> Void
        let target = Mutex<ThreadIdentity?>(nil)
        let started = DispatchSemaphore(value: 0)
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private static let stackBytes = 512 * 1024

    /// Returns when the thread is about to enter `body`.
    init(_ body: @escaping @Sendable () -> Void) throws {
        let start = Start(body)
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(start)
        let error = cll_thread_create(
            &thread,
            Self.stackBytes,
            { raw in
                let start = Unmanaged<Start>.fromOpaque(raw!).takeRetainedValue()
                let me = ThreadIdentity.current
                start.target.withLock { $0 = me }
                start.started.signal()
                start.body()
            },
            argument.toOpaque()
        )
        guard error == 0 else {
            argument.release()
            throw BenchmarkFailure("cannot start a thread: \(String(cString: strerror(error)))")
        }
        start.started.wait()
        self.thread = thread
        // The thread has set it before its signal.
        target = start.target.withLock { $0! }
    }

    /// Waits until it has exited; call it once.
    func join() { pthread_join(thread, nil) }
}

/// Waiting, on the monotonic clock.
enum Pause {
    /// Sleeps in the kernel; continues to sleep after a signal interrupts it.
    static func sleep(milliseconds: Double) { sleep(until: clb_now_ns() + UInt64(milliseconds * 1_000_000)) }

    static func sleep(until deadline: UInt64) {
        var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }

    /// Computes until this time.
    static func spin(until deadline: UInt64) {
        while clb_now_ns() < deadline {}
    }
}
