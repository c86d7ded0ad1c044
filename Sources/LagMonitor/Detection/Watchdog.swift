internal import CLibunwind
internal import Glibc
package import LagCapture
internal import Synchronization

/// The thread that looks at every watched loop of the process, decides, and captures.
///
/// It waits on one semaphore with a deadline on `CLOCK_MONOTONIC`. While every loop sleeps it waits without one: the
/// beacons are armed, and the first loop that wakes posts. While loops work it ticks once an interval, however often
/// they turn. It takes no lock, opens no file but the kernel's own under `/proc`, and allocates nothing, so it does
/// not matter what the stalled thread holds.
///
/// Threads: ``run(ready:)`` is the watchdog's thread; ``wake()``, ``stop()`` and the counters are for any.
// Unchecked: what `run` uses is touched by its thread only; the rest is atomic or immutable.
package final class Watchdog: @unchecked Sendable {
    /// Stalls found, stalls for which there was no prepared memory left, stalls in a restore interval, wakes.
    package struct Counters: Sendable, Equatable {
        package var stalls: UInt64 = 0
        package var dropped: UInt64 = 0
        package var suppressed: UInt64 = 0
        package var wakes: UInt64 = 0
        package var lateWakes: UInt64 = 0
    }

    // Every beacon points to it, and a loop may post at any later time: it is never freed.
    static let semaphore: SendableSemaphore = .init()

    let registry: WatchRegistry
    let queue: EpisodeQueue
    let capture: ThreadCapture
    /// Wakes the reporter; must not block or allocate.
    let notify: @Sendable () -> Void
    let stalls = Atomic<UInt64>(0)
    let dropped = Atomic<UInt64>(0)
    let suppressed = Atomic<UInt64>(0)
    private let wakes = Atomic<UInt64>(0)
    private let lateWakes = Atomic<UInt64>(0)
    private let stopping = Atomic<Bool>(false)
    private let changed = Atomic<Bool>(false)
    var modulesReadAt: UInt64 = 0
    var random = SystemRandomNumberGenerator()

    package init(registry: WatchRegistry, queue: EpisodeQueue, capture: ThreadCapture, notify: @escaping @Sendable () -> Void) {
        self.registry = registry
        self.queue = queue
        self.capture = capture
        self.notify = notify
    }

    package var counters: Counters {
        Counters(
            stalls: stalls.load(ordering: .relaxed),
            dropped: dropped.load(ordering: .relaxed),
            suppressed: suppressed.load(ordering: .relaxed),
            wakes: wakes.load(ordering: .relaxed),
            lateWakes: lateWakes.load(ordering: .relaxed)
        )
    }

    /// The registry changed: look again.
    package func wake() {
        changed.store(true, ordering: .releasing)
        Self.semaphore.post()
    }

    /// Asks the thread to end; stalls in progress become abandoned episodes.
    package func stop() {
        stopping.store(true, ordering: .releasing)
        Self.semaphore.post()
    }

    /// The thread's body.
    /// - Parameters:
    ///   - starter: the thread that waits for `ready`: captured once, so that the first real capture finds everything bound and cached.
    ///   - ready: called when stalls will be found from now on.
    package func run(starter: CaptureTarget, ready: () -> Void) {
        capture.warmUp(starter, into: queue.episodes[0].frames)
        modulesReadAt = clu_now_ns()
        var lateness = LatenessGuard(toleranceNanoseconds: Self.toleranceNanoseconds)
        var deadline = scan(at: clu_now_ns(), &lateness).deadline
        var stalled = false
        ready()
        while true {
            let posted = Self.semaphore.wait(until: deadline)
            wakes.add(1, ordering: .relaxed)
            if stopping.load(ordering: .acquiring) { break }
            // A post while ticking with no stall to time is a beacon still armed from the last park; the tick will see it.
            let news = changed.exchange(false, ordering: .acquiringAndReleasing)
            if posted, deadline != .max, !stalled, !news { continue }
            Self.semaphore.drain()
            (deadline, stalled) = scan(at: clu_now_ns(), &lateness)
            lateWakes.store(lateness.lateCount, ordering: .relaxed)
        }
        endAll()
        Self.semaphore.drain()
    }

    /// Half the shortest sensible interval: a wait that ends later says nothing about the loop.
    static let toleranceNanoseconds: UInt64 = 25_000_000
}

/// A process-wide semaphore that is never freed.
// Unchecked: a semaphore is made to be shared, and the pointer is immutable.
package struct SendableSemaphore: @unchecked Sendable {
    let raw: UnsafeMutablePointer<sem_t>

    package init() {
        raw = .allocate(capacity: 1)
        raw.initialize(to: sem_t())
        sem_init(raw, 0, 0)
    }

    /// Async-signal-safe, any thread.
    package func post() { sem_post(raw) }

    /// - Parameter deadline: `CLOCK_MONOTONIC` nanoseconds; `.max` waits without end.
    /// - Returns: whether it was posted (and not timed out).
    package func wait(until deadline: UInt64) -> Bool { clu_sem_wait_until(raw, deadline) != 0 }

    /// Takes all that is there.
    package func drain() { while sem_trywait(raw) == 0 {} }
}
