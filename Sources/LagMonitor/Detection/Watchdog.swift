internal import CLibunwind
internal import Glibc
package import LagActivity
package import LagCapture
internal import Synchronization

/// The thread that looks at every watched loop of the process, decides, and captures.
///
/// It waits on one semaphore with a deadline on `CLOCK_MONOTONIC`. While every loop sleeps it waits without one: the
/// beacons are armed, and the first loop that wakes posts. While loops work it ticks once an interval, however often
/// they turn. It takes no lock, opens no file but the kernel's own under `/proc`, and allocates nothing, so it does
/// not matter what the stalled thread holds.
///
/// Threads: ``run(starter:ready:)`` is the watchdog's thread; ``wake()``, ``stop()`` and the counters are for any.
// Unchecked: what `run` uses is touched by its thread only; the rest is atomic or immutable.
package final class Watchdog: @unchecked Sendable {
    /// What watching costs: for tests and for the benchmark.
    package struct Counters: Sendable, Equatable {
        /// Waits that ended, however.
        package let wakes: UInt64
        /// Waits that ended too late to count.
        package let lateWakes: UInt64
        /// How long the last look at all loops took.
        package let lastScanNanoseconds: UInt64
    }

    // Every beacon points to it, and a loop may post at any later time: it is never freed.
    static let semaphore = WakeSemaphore()

    let registry: WatchRegistry
    let queue: EpisodeQueue
    let capture: ThreadCapture
    /// Wakes the reporter; must not block or allocate.
    let notify: @Sendable () -> Void
    /// `CLOCK_MONOTONIC`, nanoseconds.
    let clock: @Sendable () -> UInt64
    private let wakes = Atomic<UInt64>(0)
    private let lateWakes = Atomic<UInt64>(0)
    private let lastScanNanoseconds = Atomic<UInt64>(0)
    private let stopping = Atomic<Bool>(false)
    private let changed = Atomic<Bool>(false)
    var modulesReadAt: UInt64 = 0
    var random = SystemRandomNumberGenerator()

    /// - Parameter clock: for tests; the waits of ``run(starter:ready:)`` follow the real one.
    package init(
        registry: WatchRegistry,
        queue: EpisodeQueue,
        capture: ThreadCapture,
        clock: @escaping @Sendable () -> UInt64 = { clu_now_ns() },
        notify: @escaping @Sendable () -> Void
    ) {
        self.registry = registry
        self.queue = queue
        self.capture = capture
        self.clock = clock
        self.notify = notify
    }

    package var counters: Counters {
        Counters(
            wakes: wakes.load(ordering: .relaxed),
            lateWakes: lateWakes.load(ordering: .relaxed),
            lastScanNanoseconds: lastScanNanoseconds.load(ordering: .relaxed)
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
    package func run(starter: ThreadIdentity, ready: () -> Void) {
        capture.warmUp(starter, into: queue.episodes[0].frames)
        modulesReadAt = clu_now_ns()
        Self.semaphore.drain()
        var lateness = LatenessGuard(toleranceNanoseconds: Self.toleranceNanoseconds)
        var runDelay = RunDelay(tid: clu_gettid())
        var plan = scan(at: clock())
        ready()
        var begun = clock()
        while true {
            let posted = Self.semaphore.wait(until: plan.deadline)
            wakes.add(1, ordering: .relaxed)
            if stopping.load(ordering: .acquiring) { break }
            // A post while ticking with no stall to time is a beacon still armed from the last park; the tick will see it.
            let news = changed.exchange(false, ordering: .acquiringAndReleasing)
            if posted, plan.deadline != .max, !plan.stalled, !news { continue }
            Self.semaphore.drain()
            // The post that asked for the end may be among those just taken.
            if stopping.load(ordering: .acquiring) { break }
            let now = clock()
            let lost = lateness.lost(from: begun, until: plan.deadline, endedAt: now) { runDelay.sinceMark() }
            lateWakes.store(lateness.lateCount, ordering: .relaxed)
            plan = scan(at: now, lost: lost)
            begun = clock()
            lastScanNanoseconds.store(begun &- now, ordering: .relaxed)
            // A wait without end cannot be late.
            if plan.deadline != .max { runDelay.mark() }
        }
        endAll()
    }

    /// Half the default interval: a wait that ends later, without the scheduler's being the reason, is no timeout.
    static let toleranceNanoseconds: UInt64 = 25_000_000
}
