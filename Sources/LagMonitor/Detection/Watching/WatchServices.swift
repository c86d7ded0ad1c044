internal import CLagLinux
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import LagModel
internal import Synchronization

/// What the watches of one watchdog share: captures, the queue to the reporter, and buffers that are allocated in advance.
///
/// Threads: only the watchdog's, once it runs.
// Unchecked: used by one thread after `Watchdog.run` began, or by the callers of a manual watchdog, one at a time.
final class WatchServices: @unchecked Sendable {
    let registry: WatchRegistry
    let queue: EpisodeQueue
    let capture: ThreadCapture
    /// Sends the pings that the watchdog's thread must not send.
    let relay: PingRelay
    /// The semaphore that beacons post.
    let semaphore: WakeSemaphore
    /// Whether the loops belong to another process.
    let isRemote: Bool
    /// What quotas take from the watched process; nil: not known.
    let throttling: ThrottleSource?
    /// Wakes the reporter; must not block or allocate.
    let notify: @Sendable () -> Void
    /// This process.
    let ownProcess = getpid()
    /// `CLOCK_MONOTONIC`, nanoseconds.
    let clock: @Sendable () -> UInt64

    /// Frames of the present capture.
    let scratch: FrameBuffer
    /// Threads that may be at work for a pool.
    let candidates = UnsafeMutableBufferPointer<Int32>.allocate(capacity: StackTally.workerCapacity)
    /// Which of them comes first in the next round.
    var roundStart = 0
    /// The first loop whose thread's work the next scan may read.
    var firstReading = 0
    /// The holders of the lock for which the stalled thread waits.
    let chain: LockChain
    /// What threads of this process run; nil if it cannot be read.
    let running: RunningReader?
    var wait = cll_wait()
    var random = SystemRandomNumberGenerator()
    private var modulesReadNanoseconds: UInt64 = 0
    /// What quotas had taken at the last readings.
    private(set) var throttles = ThrottleHistory()
    /// When a reading was last tried after a scan; it may not be readable.
    private var throttlesTriedNanoseconds: UInt64?

    init(
        registry: WatchRegistry,
        queue: EpisodeQueue,
        capture: ThreadCapture,
        relay: PingRelay,
        semaphore: WakeSemaphore,
        isRemote: Bool,
        throttling: ThrottleSource? = nil,
        clock: @escaping @Sendable () -> UInt64,
        notify: @escaping @Sendable () -> Void
    ) {
        self.registry = registry
        self.queue = queue
        self.capture = capture
        self.relay = relay
        self.semaphore = semaphore
        self.isRemote = isRemote
        self.throttling = throttling
        self.clock = clock
        self.notify = notify
        chain = LockChain(process: capture.process, languages: capture.languageSource)
        // The languages' frames are inserted between native ones by their place on the stack.
        scratch = FrameBuffer(capacity: EpisodeQueue.maximumFrames, withStackPointers: isRemote)
        // Learned by the thread that starts a monitor, not by the watchdog's.
        running = !isRemote && TaskRuntime.isVerified ? RunningReader(layout: TaskRuntime.layout) : nil
    }

    /// What a thread has used so far. The watchdog's thread only.
    func totals(of tid: Int32) -> UsageMeter.Totals? {
        UsageMeter.Totals(tid: tid, process: capture.process, at: clock())
    }

    deinit { candidates.deallocate() }

    /// The number of watches, including former ones' entries.
    var count: Int { registry.count }

    func watch(_ index: Int) -> Watch { Watch(index, self) }

    // MARK: Modules

    /// The minimum age of the module map before it is read again for a capture (libraries are loaded and unloaded, even at the
    /// same address): a reading takes 0.2 ms.
    static let modulesAgeNanoseconds: UInt64 = 10_000_000

    /// - Parameter age: a younger map is good enough.
    func refreshModules(olderThan age: UInt64 = modulesAgeNanoseconds) {
        guard clock() &- modulesReadNanoseconds > age else { return }
        capture.refreshModules()
        modulesReadNanoseconds = clock()
    }

    // MARK: Threads

    /// Whether a debugger holds the thread; or, for another process, whether the whole process is stopped. This process would
    /// have noticed that by its own lateness.
    func isHeld(_ tid: Int32) -> Bool {
        isRemote
            ? switchesWhileHeld(tid) != nil : TracerCheck.read(tid: tid, process: capture.process).isHeldByOthers
    }

    /// For a thread of another process that is stopped or held: how often it has given up a processor so far; nil if it is not.
    /// 10 µs.
    func switchesWhileHeld(_ tid: Int32) -> UInt64? {
        guard let state = ThreadState(tid: tid, process: capture.process), state.isStopped || state.isHeldByTracer else {
            return nil
        }
        guard state.isStopped || TracerCheck.read(tid: tid, process: capture.process).isHeldByOthers else { return nil }
        return state.voluntarySwitches &+ state.involuntarySwitches
    }

    // MARK: Quotas

    /// The maximum age, while a loop works, of the quota reading when a stall begins.
    private static let throttlesAgeNanoseconds: UInt64 = 1_000_000_000

    /// After a scan: reads what quotas took, if the last reading is old.
    func refreshThrottling(at now: UInt64) {
        if let last = throttles.latest?.time, now.saturatingDifference(last) <= Self.throttlesAgeNanoseconds { return }
        if let last = throttlesTriedNanoseconds, now.saturatingDifference(last) <= Self.throttlesAgeNanoseconds { return }
        throttlesTriedNanoseconds = now
        _ = readThrottling()
    }

    /// What quotas took by now; nil: not known. Some 5 µs.
    func readThrottling() -> ThrottleReading? {
        guard let throttling, let reading = throttling.read(at: clock()) else { return nil }
        throttling.count(throttles.add(reading))
        return reading
    }

    // MARK: Start

    /// The first use of a type or of a path allocates, and the thread that stalls may hold malloc's lock.
    /// - Parameter starter: a thread that waits on a lock for this call to end. It is captured once, so that the first real
    ///   capture finds everything bound and cached.
    func warmUp(_ starter: ThreadIdentity) {
        capture.warmUp(starter, into: scratch)
        _ = TracerCheck.read(tid: cll_gettid())
        _ = totals(of: cll_gettid())
        running?.confirm()
        warmUpSampling(starter)
        modulesReadNanoseconds = clock()
    }

    private func warmUpSampling(_ starter: ThreadIdentity) {
        guard starter.process == capture.process else { return }
        let tally = queue.episodes[0].tally
        tally.begin(at: clock())
        let outcome = capture.capture(starter, earlier: nil, into: scratch)
        tally.recordFailure(outcome)
        _ = tally.add(outcome, scratch, key: key(of: outcome), at: clock())
        if case .waiting(let call) = outcome.state {
            describe(call, of: starter, in: queue.episodes[0], 0, isNew: true) { true }
        }
        tally.close(at: clock())
        warmUpRunning(starter, outcome, in: queue.episodes[0])
        warmUpUsage(starter)
        _ = registry.hotParts[0].state.load(ordering: .relaxed)
        Watch.ColdPart.warmUp()
        StallDetector.warmUp()
        PauseMeter.warmUp(tid: cll_gettid())
        queue.episodes[1].copy(queue.episodes[0])
        tally.release()
        queue.episodes[1].tally.release()
        tally.begin(at: 0)
    }

    private func warmUpRunning(_ starter: ThreadIdentity, _ outcome: CaptureOutcome, in episode: Episode) {
        episode.running.begin(at: clock())
        guard let running, let thread = JobThread(tid: starter.tid), running.read(thread) else { return }
        _ = episode.running.beginOpen(at: clock())
        _ = running.forEachOpen(of: thread, isPool: true) { episode.running.addOpen($0) }
        var trace = InheritedTrace()
        trace.consider(running.context)
        episode.running.setTrace(trace)
        _ = running.findContext()
        var latest = LatestRunning()
        for _ in 0..<2 {
            let reading = RunningReading(task: running.task, context: running.context)
            latest.record(reading, isStalled: false, at: clock())
            latest.begin(at: 0, now: clock())
            episode.running.add(reading, latest, at: clock())
        }
        _ = running.addAsyncCallers(to: scratch, from: outcome.stored, capture)
        episode.running.close(at: clock())
        episode.running.begin(at: 0)
    }

    private func warmUpUsage(_ starter: ThreadIdentity) {
        _ = readThrottling()
        // The groups may be seen for the first time later.
        var history = ThrottleHistory()
        for second in 1...3 as ClosedRange<UInt64> {
            let time = second * 1_000_000_000
            let reading = ThrottleReading(time: time, throttledNanoseconds: time)
            _ = history.add(reading)
            _ = history.growth(since: 0, to: reading)
        }
        var usage = ThreadUsage()
        usage.attribute(throttled: 0)
        let times = ThreadTimes(PersistentProcFile(timesOf: starter.tid))
        var meter = UsageMeter()
        meter.throttles = history
        for round in 1...2 as ClosedRange<UInt64> {
            let reading = UsageMeter.Reading(time: clock(), cpu: round, runDelay: times?.runDelayNanoseconds)
            meter.record(reading, BeaconReading(word: round, calloutNanoseconds: reading.time))
        }
        guard let totals = UsageMeter.Totals(tid: starter.tid, at: clock()) else { return }
        for since in [0, totals.reading.time] {
            _ = meter.usage(since: since, until: clock(), length: 1, spansCallouts: true, totals)
            meter.first = totals
        }
    }
}
