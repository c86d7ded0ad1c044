internal import CLagBeacon
internal import Glibc
internal import LagActivity
internal import LagDetection
internal import LagModel
internal import LagMonitor

/// Finds the threads of watched pools, and starts a watch for each while it exists.
///
/// A separate thread, which sleeps until the watchdog reports possible new threads: finding them takes files, memory and locks.
/// It exists only while a pool is watched. Everything else is for any thread.
final class WorkerSearch: PoolWatch {
    /// A watched pool.
    private struct Interest {
        let pool: any NamedPool
        let jobs: JobSource
        let name: String
        let owner: any WatchOwner
        let rules: WatchRules
        var isPaused = false
        /// By the kernel's id: the thread, and its place in the sampler.
        var workers: [Int32: (worker: PoolWorker, place: Int)] = [:]
    }

    private struct State {
        var interests: [Interest] = []
        /// Places in the sampler that are no longer needed.
        var closing: [Int] = []
        var thread: WorkerThread?
        var watchdog: Watchdog?
        var isStopping = false
    }

    private let sampler: WorkerSampler
    private let registry: WatchRegistry
    private let semaphore: WakeSemaphore
    private let state = PthreadMutex(State())

    init(registry: WatchRegistry) {
        self.registry = registry
        let semaphore = WakeSemaphore()
        self.semaphore = semaphore
        sampler = WorkerSampler { semaphore.post() }
    }

    func add(
        _ pool: any WorkerPool,
        name: String,
        owner: any WatchOwner,
        rules: WatchRules,
        _ watchdog: Watchdog
    ) throws(StallMonitorError) {
        guard let pool = pool as? any NamedPool, let jobs = pool.jobs else {
            let reason = "this Swift runtime is not supported: the jobs of the threads of '\(pool.name)' cannot be read"
            throw .ruleNotPossible(rule: "callout", reason: reason)
        }
        try state.withLock { state throws(StallMonitorError) in
            guard !state.interests.contains(where: { $0.pool === pool && $0.owner === owner }) else { return }
            if state.thread == nil {
                JobMeter.warmUp()
                _ = ExpectedBlocks.contains(0)
                state.thread = try WorkerThread(name: "lag-workers", submitsToQueues: false) { [self] in run() }
            }
            state.watchdog = watchdog
            state.interests.append(Interest(pool: pool, jobs: jobs, name: name, owner: owner, rules: rules))
            setInterval(of: state)
            // The earlier work of its threads is not known.
            search(&state, since: clb_now_ns())
            // Even if a pool has no threads yet: samples notice new ones.
            watchdog.wake()
        }
    }

    func remove(_ loop: any ObservableLoop, of owner: any WatchOwner) {
        remove { $0.pool === loop && $0.owner === owner }
    }

    func removeAll(of owner: any WatchOwner) { remove { $0.owner === owner } }

    private func remove(where isMeant: (Interest) -> Bool) {
        let isChanged = state.withLock { state in
            let gone = state.interests.filter(isMeant)
            guard !gone.isEmpty else { return false }
            state.interests.removeAll(where: isMeant)
            for interest in gone { for worker in interest.workers.values { end(worker, interest, &state) } }
            setInterval(of: state)
            state.watchdog?.wake()
            return true
        }
        // Places become free when the watchdog has seen the change.
        if isChanged { semaphore.post() }
    }

    private func end(_ worker: (worker: PoolWorker, place: Int), _ interest: Interest, _ state: inout State) {
        _ = registry.end(worker.worker, of: interest.owner)
        sampler.close(worker.place)
        state.closing.append(worker.place)
    }

    private func setInterval(of state: State) {
        sampler.setInterval(state.interests.compactMap { $0.rules.callout?.intervalNanoseconds }.min())
    }

    func setPaused(_ isPaused: Bool, _ loop: (any ObservableLoop)?, of owner: any WatchOwner) {
        state.withLock { state in
            for index in state.interests.indices where state.interests[index].owner === owner {
                guard loop.map({ state.interests[index].pool === $0 }) ?? true else { continue }
                state.interests[index].isPaused = isPaused
                for worker in state.interests[index].workers.values {
                    registry.setPaused(isPaused, worker.worker, of: owner, now: clb_now_ns())
                }
            }
        }
    }

    func sample(at now: UInt64) -> Bool { sampler.sample(at: now) }

    func prepareNextSample() -> UInt64 { sampler.prepareNextSample() }

    func stop(until deadline: UInt64) {
        let thread = state.withLock { state in
            state.isStopping = true
            return state.thread.take()
        }
        semaphore.post()
        _ = thread?.join(until: deadline)
    }

    // MARK: The thread

    private func run() {
        while !state.withLock({ $0.isStopping }) {
            _ = semaphore.wait(until: .max)
            semaphore.drain()
            let since = sampler.takeSearch()
            state.withLock { search(&$0, since: since) }
        }
    }

    private func search(_ state: inout State, since: UInt64) {
        state.closing.removeAll { sampler.release($0) }
        var hasFound = false
        for index in state.interests.indices {
            dropEnded(&state.interests[index], &state.closing)
            for tid in Self.threads(of: state.interests[index].pool) where state.interests[index].workers[tid] == nil {
                guard let found = watch(tid, for: state.interests[index], since: since) else { continue }
                state.interests[index].workers[tid] = found
                hasFound = true
            }
        }
        if hasFound { state.watchdog?.wake() }
    }

    private static func threads(of pool: any NamedPool) -> [Int32] {
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: WorkerSampler.capacity) { tids in
            Array(tids.prefix(pool.findThreads(tids)))
        }
    }

    /// A watch ends by itself with its thread.
    private func dropEnded(_ interest: inout Interest, _ closing: inout [Int]) {
        for (tid, found) in interest.workers where found.worker.beacon.activity == .finished {
            interest.workers[tid] = nil
            if !sampler.release(found.place) { closing.append(found.place) }
        }
    }

    private func watch(_ tid: Int32, for interest: Interest, since: UInt64) -> (worker: PoolWorker, place: Int)? {
        guard sampler.hasFreePlace, let thread = JobThread(tid: tid) else { return nil }
        let worker = PoolWorker(thread, of: interest.jobs, named: interest.name, threads: interest.pool.threadName, since: since)
        guard registry.add(worker, name: interest.name, owner: interest.owner, rules: interest.rules, now: clb_now_ns()) != nil
        else { return nil }
        guard let place = sampler.add(worker) else {
            _ = registry.end(worker, of: interest.owner)
            return nil
        }
        if interest.isPaused { registry.setPaused(true, worker, of: interest.owner, now: clb_now_ns()) }
        return (worker, place)
    }
}
