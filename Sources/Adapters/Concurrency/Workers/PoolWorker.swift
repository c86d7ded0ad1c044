internal import CLagBeacon
internal import CLagLinux
internal import LagActivity
internal import LagCapture
internal import LagModel

/// A thread of a pool, as a loop that is sampled: a turn of it is one job.
///
/// Its beacon is written by the watchdog's thread (``WorkerSampler``), from what can be read of the thread without its taking part.
// Unchecked: the beacon, the identity and the name are immutable; the rest is the watchdog's thread's alone.
final class PoolWorker: JobLoop, @unchecked Sendable {
    let beacon = ActivityBeacon()
    let thread: ThreadIdentity
    let name: String
    private let source: JobSource
    private let handle: JobThread
    private var meter: JobMeter
    private var counter = JobCounter()
    /// What the pool's threads are called; nil: this one was seen to be called so while it ran a job.
    private var expectedName: cll_name?
    private(set) var sampledStretches = SampledStretches()

    /// - Parameters:
    ///   - name: the pool's.
    ///   - threadName: of the pool's threads.
    ///   - since: when the thread was not there yet, or not watched yet (`CLOCK_MONOTONIC`, nanoseconds): nothing before that counts.
    init(_ handle: JobThread, of source: JobSource, named name: String, threads threadName: cll_name, since: UInt64) {
        expectedName = threadName
        self.handle = handle
        self.source = source
        self.name = name
        thread = handle.identity
        meter = JobMeter(since: since)
    }

    /// Whether it runs a job.
    var isAtWork: Bool { meter.isAtWork }

    var taskNumber: UInt32? { meter.taskNumber }

    var isAtSameJob: Bool { read().map { meter.isContinued($0) } ?? false }

    /// For how long it has run the present one, for certain.
    func age(at now: UInt64) -> UInt64 { meter.isAtWork ? now.saturatingDifference(meter.began.latest) : 0 }

    /// Samples, and publishes. Of a thread at rest some µs, of one at work some 20.
    /// - Parameter restedUntil: a thread that was at rest at its last sample still was then.
    /// - Returns: whether the thread is still there, and the pool's.
    func sample(at now: UInt64, restedUntil: UInt64) -> Bool {
        guard let found = read(), found.job == 0 || isOfPool() else {
            if meter.isAtWork { sampledStretches.end(at: TimeBounds(meter.began.latest, likely: now, now)) }
            counter.close()
            beacon.publish(.finished)
            return false
        }
        meter.recordRest(until: restedUntil)
        let step = meter.observe(found, at: now, seen: clb_now_ns())
        publish(step)
        if !meter.isAtWork {
            counter.close()
        } else if meter.isRepeated {
            // Whether it is one job matters only of those that last.
            counter.open(handle.tid, function: source.function)
            if found.begun == nil, let begun = counter.begun {
                // What began before it was counted would be taken for the same job.
                if hasStayed(since: found) { meter.beginCounting(at: begun) } else { counter.close() }
            }
        }
        return true
    }

    /// A thread is found by its name, and one that is just made has that of its maker, which may be of another pool, until it first runs. Asked once, of
    /// one that runs a job.
    private func isOfPool() -> Bool {
        guard var name = expectedName else { return true }
        guard cll_pool_has_thread(&name, handle.tid) != 0 else { return false }
        expectedName = nil
        return true
    }

    /// Whether the thread has not slept since it was sampled, on a busy machine a while ago: so it is at the same job.
    private func hasStayed(since sample: JobSample) -> Bool {
        if cll_thread_cpu_ns(handle.tid) == sample.cpuNanoseconds { return true }
        guard let sleeps = sample.sleeps, let state = ThreadState(tid: handle.tid) else { return false }
        return state.voluntarySwitches == sleeps
    }

    /// It is not sampled any more.
    func stopCounting() { counter.close() }

    /// Nil: the thread is gone.
    private func read() -> JobSample? {
        guard let job = source.job(of: handle) else { return nil }
        guard job != 0, !ExpectedBlocks.contains(handle.tid) else { return JobSample(job: 0) }
        var sample = JobSample(job: job)
        sample.cpuNanoseconds = cll_thread_cpu_ns(handle.tid)
        sample.begun = counter.begun
        if sample.begun == nil, meter.wantsMore(job, cpuNanoseconds: sample.cpuNanoseconds),
            let state = ThreadState(tid: handle.tid)
        {
            sample.sleeps = state.voluntarySwitches
            sample.isAsleep = !state.isRunnable
        }
        // What was read in between belongs to the job only if it still runs.
        guard let again = source.job(of: handle) else { return nil }
        return again == job ? sample : JobSample(job: 0)
    }

    private func publish(_ step: JobMeter.Step) {
        switch step {
        case .nothing: break
        case .rest: rest()
        case .work: work()
        case .next:
            rest()
            work()
        }
    }

    private func rest() {
        sampledStretches.end(at: meter.ended)
        beacon.publish(.waiting)
    }

    private func work() {
        beacon.wake(.afterWaiting, at: meter.began.latest)
        let likely = meter.began.earliest + (meter.began.latest - meter.began.earliest) / 2
        sampledStretches.begin(word: clb_beacon_word(beacon.raw), at: meter.began, mayHaveBegun: likely)
    }
}
