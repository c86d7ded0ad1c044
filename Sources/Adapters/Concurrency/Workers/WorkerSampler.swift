internal import CLagBeacon
internal import CLagLinux
internal import LagActivity
internal import LagDetection
internal import LagModel
internal import Synchronization

/// Samples the threads of this process's pools, and requests a search when there may be others.
///
/// Cost: while no other thread of the process runs and no job is in progress, three readings of a clock at each tick (50 ms,
/// unless a rule sets another interval), however many threads there are. Otherwise some µs for each thread of a pool, and 20 for
/// each that runs a job: at each tick, once more after a tick that finds a new job, and more often while a job lasts that may be
/// a stall. Nothing if no pool is watched.
///
/// Threads: ``sample(at:)`` and ``prepareNextSample()`` are the watchdog's; everything else is for one thread at a time, other
/// than the watchdog's.
// Unchecked: a place's state determines which thread may access it; what belongs only to the watchdog is marked.
final class WorkerSampler: ExternalSampler, @unchecked Sendable {
    /// Threads that can be watched at once.
    static let capacity = 256

    private enum State: UInt8, AtomicRepresentable {
        /// No thread: the owner may write the place.
        case free
        /// The watchdog samples it.
        case active
        /// The owner has requested it back.
        case closing
        /// The thread is gone, or the owner requested the place back: the watchdog does not touch it any more.
        case ended
    }

    private final class Place {
        let state = Atomic<State>(.free)
        var worker: PoolWorker?
    }

    private let places = (0..<WorkerSampler.capacity).map { _ in Place() }
    /// Places below it may be in use.
    private let used = Atomic<Int>(0)
    /// Time between two samples; `.max`: no pool is watched.
    private let interval = Atomic<UInt64>(.max)
    private let hasChanged = Atomic<Bool>(false)
    /// Since when the threads that the next search finds may have been created; 0: no search is requested.
    private let searchSince = Atomic<UInt64>(0)
    private let wantSearch: @Sendable () -> Void

    // The watchdog's.
    private var others = cll_cpu_bounds()
    private var schedule = WorkerSearchSchedule(at: 0)
    private var isAtWork = false
    private var isInDoubt = false
    private var hasEnded = false
    /// 0: no pool was watched.
    private var lastNanoseconds: UInt64 = 0

    /// The interval between samples of a job that may be a stall: its end is known with this precision.
    private static let closeNanoseconds: UInt64 = 10_000_000
    /// For a job that has lasted this many intervals, a precision of one interval is good enough.
    private static let closeIntervals: UInt64 = 64
    /// The kernel updates a running thread's time at its own tick: this much may not be counted yet.
    private static let uncountedNanoseconds: UInt64 = 10_000_000

    /// - Parameter wantSearch: the watchdog calls it when new threads may exist: it must neither lock nor allocate.
    init(wantSearch: @escaping @Sendable () -> Void) { self.wantSearch = wantSearch }

    // MARK: The owner's side

    /// The interval for sampling jobs in progress; nil: no pool is watched any more.
    func setInterval(_ nanoseconds: UInt64?) {
        interval.store(nanoseconds ?? .max, ordering: .releasing)
        hasChanged.store(true, ordering: .releasing)
    }

    /// A search begins. Returns since when the threads that it finds may have been created.
    func takeSearch() -> UInt64 {
        let since = searchSince.exchange(0, ordering: .acquiringAndReleasing)
        return since > 0 ? since : clb_now_ns()
    }

    /// Whether one more thread can be sampled.
    var hasFreePlace: Bool { places.contains { $0.state.load(ordering: .acquiring) == .free } }

    /// Samples a thread from now on.
    /// - Returns: its place; nil: none is left.
    func add(_ worker: PoolWorker) -> Int? {
        guard let index = places.firstIndex(where: { $0.state.load(ordering: .acquiring) == .free }) else { return nil }
        places[index].worker = worker
        places[index].state.store(.active, ordering: .releasing)
        if used.load(ordering: .relaxed) <= index { used.store(index + 1, ordering: .releasing) }
        hasChanged.store(true, ordering: .releasing)
        return index
    }

    /// Requests a place back: ``release(_:)`` returns whether it is free.
    func close(_ index: Int) {
        _ = places[index].state.compareExchange(expected: .active, desired: .closing, ordering: .acquiringAndReleasing)
        hasChanged.store(true, ordering: .releasing)
    }

    /// Takes back a place whose thread is gone, or which was closed.
    /// - Returns: false while the watchdog may still use it.
    func release(_ index: Int) -> Bool {
        guard places[index].state.load(ordering: .acquiring) == .ended else { return false }
        places[index].worker = nil
        places[index].state.store(.free, ordering: .releasing)
        return true
    }

    // MARK: The watchdog's side

    /// - Returns: whether a thread is, or was, running a job.
    func sample(at now: UInt64) -> Bool {
        guard interval.load(ordering: .acquiring) != .max || hasChanged.load(ordering: .relaxed) else {
            lastNanoseconds = 0
            return false
        }
        // Time before the first pool, or before this one, does not count.
        if lastNanoseconds == 0 {
            lastNanoseconds = now
            schedule = WorkerSearchSchedule(at: now)
        }
        // A thread that was idle, or did not exist, at the last sample had not begun by then.
        let last = lastNanoseconds.saturatingDifference(Self.uncountedNanoseconds)
        let present = cll_cpu_of_others()
        let hasRun = present.at_least_ns > others.at_most_ns
        let isNews = hasChanged.exchange(false, ordering: .acquiringAndReleasing)
        if hasRun { others = present }
        // A thread that has not run since is where it was.
        let wasAtWork = isAtWork
        if hasRun || isNews || isAtWork { sampleAll(at: now, since: last) }
        // A loop that has just become idle, or ended, is scanned once more.
        let isWanted = isNews || wasAtWork || isAtWork || hasEnded
        if hasRun || isNews || schedule.isExpecting { lookForThreads(at: now, since: last) }
        lastNanoseconds = interval.load(ordering: .acquiring) == .max ? 0 : now
        return isWanted
    }

    /// - Parameter last: threads that were idle at their last sample still were at this time.
    private func sampleAll(at now: UInt64, since last: UInt64) {
        let isSecond = isInDoubt
        (isAtWork, isInDoubt) = (false, false)
        let interval = interval.load(ordering: .relaxed)
        var index = 0
        while index < used.load(ordering: .acquiring) {
            let place = places[index]
            index += 1
            switch place.state.load(ordering: .acquiring) {
            case .free, .ended: break
            case .closing:
                place.worker?.stopCounting()
                place.state.store(.ended, ordering: .releasing)
                // The search takes the place back.
                hasEnded = true
            case .active:
                guard let worker = place.worker else { break }
                guard worker.sample(at: now, restedUntil: last) else {
                    place.state.store(.ended, ordering: .releasing)
                    hasEnded = true
                    break
                }
                guard worker.isAtWork else { break }
                isAtWork = true
                let age = worker.age(at: now)
                // For a job that has just begun: whether it lasts (once: on a busy pool there is always one). For one that lasts:
                // when it ends.
                if (!isSecond && age < Self.closeNanoseconds) || (age >= interval / 2 && age / interval < Self.closeIntervals) {
                    isInDoubt = true
                }
            }
        }
    }

    private func lookForThreads(at now: UInt64, since last: UInt64) {
        guard let since = schedule.search(threads: cll_thread_count(), hasEnded: hasEnded, at: now, last: last) else { return }
        hasEnded = false
        _ = searchSince.compareExchange(expected: 0, desired: since, ordering: .acquiringAndReleasing)
        wantSearch()
    }

    func prepareNextSample() -> UInt64 {
        let interval = interval.load(ordering: .acquiring)
        guard interval != .max else { return .max }
        let now = clb_now_ns()
        let tick = now.nextTick(ofInterval: interval)
        return isInDoubt ? min(tick, now.saturatingSum(Self.closeNanoseconds)) : tick
    }
}
