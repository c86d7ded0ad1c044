internal import CLagBeacon
internal import CLagLinux
internal import Glibc
package import LagActivity
package import LagCapture
internal import Synchronization

/// The thread that scans every watched loop of the process.
///
/// It waits on one semaphore with a deadline on `CLOCK_MONOTONIC`. While every loop sleeps, it waits without a deadline: the
/// beacons are armed, and the first loop that wakes posts. While loops work, it ticks once per interval, however often they turn;
/// while one of them may be stalled, more often, so that a stop of the process is known more exactly. It takes no lock, opens no
/// file except the kernel's own under `/proc` and `/sys/fs/cgroup`, and allocates nothing, so it does not matter which locks the
/// stalled thread holds.
///
/// ``Watch`` is its work for one loop; ``StallDetector`` decides whether that loop is stalled.
///
/// Threads: ``run(starter:ready:)`` is the watchdog's thread; ``wake()``, ``stop()`` and the counters are for any.
// Unchecked: what `run` uses is accessed only by its thread; the rest is atomic or immutable.
package final class Watchdog: @unchecked Sendable {
    /// What watching costs: for tests and for the benchmark.
    package struct Counters: Sendable, Equatable {
        /// Waits that ended, for any reason.
        package let wakes: UInt64
        package let lastScanNanoseconds: UInt64
    }

    // Every beacon points to it, and a loop may post at any later time: it is never freed.
    private static let ownSemaphore = WakeSemaphore()
    /// Writes the beacons of loops that publish nothing themselves.
    private let externalSampler: (any ExternalSampler)?
    /// When the next scan is due according to the last one, regardless of the sampler. Used only by the watchdog's thread.
    private var scanDueNanoseconds: UInt64 = 0
    /// What the watches use, on this thread.
    let services: WatchServices
    private let semaphore: WakeSemaphore
    private let pauses = PauseLog()
    private let wakes = Atomic<UInt64>(0)
    private let lastScanNanoseconds = Atomic<UInt64>(0)
    private let stopping = Atomic<Bool>(false)
    private let changed = Atomic<Bool>(false)

    /// - Parameters:
    ///   - semaphore: posted by the beacons of another process; nil: the beacons are this process's.
    ///   - externalSampler: writes the beacons of loops that publish nothing themselves.
    ///   - throttling: what quotas take from the watched process; nil: not known.
    ///   - clock: for tests; the waits of ``run(starter:ready:)`` use the real one.
    package init(
        registry: WatchRegistry,
        queue: EpisodeQueue,
        capture: ThreadCapture,
        relay: PingRelay,
        semaphore: WakeSemaphore? = nil,
        externalSampler: (any ExternalSampler)? = nil,
        throttling: ThrottleSource? = nil,
        clock: @escaping @Sendable () -> UInt64 = { clb_now_ns() },
        notify: @escaping @Sendable () -> Void
    ) {
        self.semaphore = semaphore ?? Self.ownSemaphore
        self.externalSampler = externalSampler
        services = WatchServices(
            registry: registry,
            queue: queue,
            capture: capture,
            relay: relay,
            semaphore: self.semaphore,
            isRemote: semaphore != nil,
            throttling: throttling,
            clock: clock,
            notify: notify
        )
    }

    package var counters: Counters {
        Counters(
            wakes: wakes.load(ordering: .relaxed),
            lastScanNanoseconds: lastScanNanoseconds.load(ordering: .relaxed)
        )
    }

    /// The time in which the process could not run, as far as this thread noticed.
    package var processPauses: ProcessPauses {
        var present = pauses.present
        present.throttledNanoseconds = services.throttling?.throttledNanoseconds ?? 0
        return present
    }

    var isStopping: Bool { stopping.load(ordering: .relaxed) }

    /// The registry changed: scan again.
    package func wake() {
        changed.store(true, ordering: .releasing)
        semaphore.post()
    }

    /// Requests the thread to end; stalls in progress become abandoned episodes.
    package func stop() {
        stopping.store(true, ordering: .releasing)
        semaphore.post()
    }

    /// The thread's body.
    /// - Parameters:
    ///   - starter: the thread that waits for `ready`; it is used to try out what is needed later.
    ///   - ready: called when stalls will be found from now on.
    package func run(starter: ThreadIdentity, ready: () -> Void) {
        services.warmUp(starter)
        semaphore.drain()
        var meter = PauseMeter(tid: cll_gettid(), log: pauses, isSampling: services.isRemote && externalSampler != nil)
        var plan = poll(at: services.clock(), nil)
        ready()
        var processPause = meter.scanEnded(slept: .max, closely: plan.isClose)
        var waits = 0
        while !stopping.load(ordering: .acquiring) {
            let isPosted = semaphore.wait(until: plan.deadline)
            waits += 1
            wakes.add(1, ordering: .relaxed)
            if stopping.load(ordering: .acquiring) { break }
            // A post while ticking, with no stall to time, comes from a beacon that is still armed from the last park; the tick
            // will see it.
            let answered = semaphore.drain()
            // After the drain: a change that posts from now on ends the next wait.
            let isNews = changed.exchange(false, ordering: .acquiringAndReleasing)
            // The post that requested the end may be among those just taken.
            if stopping.load(ordering: .acquiring) { break }
            if isPosted, !plan.wantsPosts, !isNews { continue }
            processPause = .joined(processPause, meter.waitEnded(due: plan.deadline, answered: answered, waits: waits))
            waits = 0
            let (now, slept) = (meter.now, services.capture.sleptNanoseconds)
            // What was drained will not post again, so a scan must handle it, even if a sample's time ended the wait.
            plan = poll(at: now, processPause, after: isPosted || isNews || answered > 0 ? nil : plan)
            // A stop during a scan shows in the scan's length; it is passed to the next scan.
            processPause = meter.scanEnded(slept: services.capture.sleptNanoseconds - slept, closely: plan.isClose)
            lastScanNanoseconds.store(meter.now &- now, ordering: .relaxed)
        }
        // A stopped process is often continued in order to be terminated.
        endAll(.joined(processPause, meter.waitEnded(due: plan.deadline, answered: 0, waits: waits)))
    }

    /// - Parameter last: the plan that still applies if nothing has happened except that the next sample is due.
    private func poll(at now: UInt64, _ processPause: ProcessPause?, after last: Plan? = nil) -> Plan {
        guard let externalSampler else { return scan(at: now, processPause: processPause) }
        let isWanted = externalSampler.sample(at: now)
        var plan: Plan
        if let last, !isWanted, now < scanDueNanoseconds, processPause == nil {
            plan = last
        } else {
            plan = scan(at: now, processPause: processPause)
            scanDueNanoseconds = plan.deadline
        }
        plan.deadline = min(scanDueNanoseconds, externalSampler.prepareNextSample())
        return plan
    }
}
