import Glibc
internal import LagActivity
import LagCapture
import Synchronization

/// A thread that enters a known stall and stays there until it is released.
final class StalledThread: Sendable {
    private final class Start: Sendable {
        let body: @Sendable (StalledThread) -> Void
        let owner: StalledThread
        init(_ owner: StalledThread, _ body: @escaping @Sendable (StalledThread) -> Void) {
            self.owner = owner
            self.body = body
        }
    }

    private let ready = Atomic<Bool>(false)
    private let released = Atomic<Bool>(false)
    private let tid = Atomic<Int32>(0)
    private let bounds = Mutex((low: UInt64(0), high: UInt64(0)))
    /// The body's result at its end: `0` means no error.
    let verdict = Atomic<Int>(0)
    private let thread = Mutex(pthread_t())

    init(stackBytes: Int = 512 * 1024, _ body: @escaping @Sendable (StalledThread) -> Void) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setstacksize(&attributes, stackBytes)
        var created = pthread_t()
        let start = Unmanaged.passRetained(Start(self, body))
        pthread_create(
            &created,
            &attributes,
            { argument in
                let start = Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
                let identity = ThreadIdentity.current
                start.owner.bounds.withLock { $0 = (identity.stackLow, identity.stackHigh) }
                start.owner.tid.store(identity.tid, ordering: .releasing)
                start.body(start.owner)
                return nil
            },
            start.toOpaque()
        )
        pthread_attr_destroy(&attributes)
        thread.withLock { $0 = created }
        while tid.load(ordering: .acquiring) == 0 { usleep(100) }
    }

    var target: ThreadIdentity {
        let (low, high) = bounds.withLock { $0 }
        return ThreadIdentity(tid: tid.load(ordering: .acquiring), stackLow: low, stackHigh: high)
    }

    var stackLow: UInt64 { bounds.withLock { $0.low } }

    /// Called by the body right before it stalls.
    func setReady() { ready.store(true, ordering: .releasing) }
    /// Read by a body that stalls by polling.
    var isReleased: Bool { released.load(ordering: .relaxed) }
    func release() { released.store(true, ordering: .releasing) }

    /// Waits until the body is about to stall, and then until the kernel shows that it does.
    func waitUntilStalled(sleeping: Bool) {
        while !ready.load(ordering: .acquiring) { usleep(100) }
        usleep(20_000)
        var polls = 0
        while polls < 2000, let state = ThreadState(tid: target.tid), state.isRunnable == sleeping {
            usleep(500)
            polls += 1
        }
    }

    func join() { pthread_join(thread.withLock { $0 }, nil) }
}
