internal import CLagBeacon
internal import CLagLinux
internal import LagActivity
internal import LagDetection
internal import LagModel
internal import Synchronization

/// Samples the threads of pools of this process, and says when others are to be searched for.
///
/// Cost: while no other thread of the process runs and no job is in progress, three readings of a clock at each tick (50 ms, where a rule does not say
/// otherwise), however many threads there are. Otherwise some µs for each thread of a pool, and 20 for each that runs a job: at each tick, once more after one
/// that finds a new job, and more often while a job lasts that may be a stall. Where no pool is watched, nothing.
///
/// Threads: ``sample(at:)`` and ``prepareNextSample()`` are the watchdog's; all else is for one thread at a time, which is not the watchdog's.
// Unchecked: who may touch a place is said by its state; what is the watchdog's alone is said there.
final class WorkerSampler: ExternalSampler, @unchecked Sendable {
    /// Threads that can be watched at once.
    static let capacity = 256

    private enum State: UInt8, AtomicRepresentable {
        /// No thread: the owner may write the place.
        case free
        /// The watchdog samples it.
        case active
        /// The owner wants it back.
        case closing
        /// The thread is gone, or the owner wanted it back: the watchdog does not touch it any more.
        case ended
    }

    private final class Place {
        let state = Atomic<State>(.free)
        var worker: PoolWorker?
    }

    private let places = (0..<WorkerSampler.capacity).map { _ in Place() }
    /// Places below it may be in use.
    private let used = Atomic<Int>(0)
    /// Between two samples; `.max`: no pool is watched.
    private let interval = Atomic<UInt64>(.max)
    private let hasChanged = Atomic<Bool>(false)
    /// Threads that the next search finds may have come since then; 0: none is asked for.
    private let searchSince = Atomic<UInt64>(0)
    private let wantSearch: @Sendable () -> Void

    // The watchdog's.
    private var others = cll_cpu_bounds()
    private var news = WorkerNews(at: 0)
    private var isAtWork = false
    private var isInDoubt = false
    private var hasEnded = false
    /// 0: no pool was watched.
    private var lastNanoseconds: UInt64 = 0

    /// A job that may be a stall is sampled so often: so much is not known of when it ends.
    private static let closeNanoseconds: UInt64 = 10_000_000
    /// Of one that has lasted for so many intervals that is little.
    private static let closeIntervals: UInt64 = 64
    /// The kernel counts a running thread's time at its own tick: so much of it may not be known yet.
    private static let uncountedNanoseconds: UInt64 = 10_000_000

    /// - Parameter wantSearch: called by the watchdog when threads may have come: neither locks nor allocates.
    init(wantSearch: @escaping @Sendable () -> Void) { self.wantSearch = wantSearch }

    // MARK: The owner's side

    /// How often jobs in progress are sampled; nil: no pool is watched any more.
    func setInterval(_ nanoseconds: UInt64?) {
        interval.store(nanoseconds ?? .max, ordering: .releasing)
        hasChanged.store(true, ordering: .releasing)
    }

    /// A search begins: since when the threads that it finds may have come.
    func takeSearch() -> UInt64 {
        let since = searchSince.exchange(0, ordering: .acquiringAndReleasing)
        return since > 0 ? since : clb_now_ns()
    }

    /// Whether one more thread can be sampled.
    var hasFreePlace: Bool { places.contains { $0.state.load(ordering: .acquiring) == .free } }

    /// Samples a thread from now on.
    /// - Returns: its place; nil: there is none left.
    func add(_ worker: PoolWorker) -> Int? {
        guard let index = places.firstIndex(where: { $0.state.load(ordering: .acquiring) == .free }) else { return nil }
        places[index].worker = worker
        places[index].state.store(.active, ordering: .releasing)
        if used.load(ordering: .relaxed) <= index { used.store(index + 1, ordering: .releasing) }
        hasChanged.store(true, ordering: .releasing)
        return index
    }

    /// Asks for a place back: it is there when ``release(_:)`` says so.
    func close(_ index: Int) {
        _ = places[index].state.compareExchange(expected: .active, desired: .closing, ordering: .acquiringAndReleasing)
        hasChanged.store(true, ordering: .releasing)
    }

    /// Takes a place back whose thread is gone, or which was closed.
    /// - Returns: false while the watchdog may still use it.
    func release(_ index: Int) -> Bool {
        guard places[index].state.load(ordering: .acquiring) == .ended else { return false }
        places[index].worker = nil
        places[index].state.store(.free, ordering: .releasing)
        return true
    }

    // MARK: The watchdog's side

    /// - Returns: whether a thread is, or was, at a job.
    func sample(at now: UInt64) -> Bool {
        guard interval.load(ordering: .acquiring) != .max || hasChanged.load(ordering: .relaxed) else {
            lastNanoseconds = 0
            return false
        }
        // What was before the first pool, or before this one, is nobody's.
        if lastNanoseconds == 0 {
            lastNanoseconds = now
            news = WorkerNews(at: now)
        }
        // No thread that rested, or did not exist, at the last sample had begun by then.
        let last = lastNanoseconds.saturatingDifference(Self.uncountedNanoseconds)
        let present = cll_cpu_of_others()
        let hasRun = present.at_least_ns > others.at_most_ns
        let isNews = hasChanged.exchange(false, ordering: .acquiringAndReleasing)
        if hasRun { others = present }
        // What has not run since is where it was.
        let wasAtWork = isAtWork
        if hasRun || isNews || isAtWork { sampleAll(at: now, since: last) }
        // A loop that has just come to a rest, or to its end, is scanned once more.
        let isWanted = isNews || wasAtWork || isAtWork || hasEnded
        if hasRun || isNews || news.isExpecting { lookForThreads(at: now, since: last) }
        lastNanoseconds = interval.load(ordering: .acquiring) == .max ? 0 : now
        return isWanted
    }

    /// - Parameter last: threads that were at rest then, when they were last sampled, still were at that time.
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
                // Of one that has just begun, whether it lasts (once: on a busy pool there is always one); of one that lasts, when it ends.
                if (!isSecond && age < Self.closeNanoseconds) || (age >= interval / 2 && age / interval < Self.closeIntervals) {
                    isInDoubt = true
                }
            }
        }
    }

    private func lookForThreads(at now: UInt64, since last: UInt64) {
        guard let since = news.search(threads: cll_thread_count(), hasEnded: hasEnded, at: now, last: last) else { return }
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
