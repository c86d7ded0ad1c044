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
    private let wakes = Atomic<UInt64>(0)
    private let lateWakes = Atomic<UInt64>(0)
    private let lastScanNanoseconds = Atomic<UInt64>(0)
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
            let begin = clu_now_ns()
            (deadline, stalled) = scan(at: begin, &lateness)
            lastScanNanoseconds.store(clu_now_ns() &- begin, ordering: .relaxed)
            lateWakes.store(lateness.lateCount, ordering: .relaxed)
        }
        endAll()
        Self.semaphore.drain()
    }

    /// Half the shortest sensible interval: a wait that ends later says nothing about the loop.
    static let toleranceNanoseconds: UInt64 = 25_000_000
}
