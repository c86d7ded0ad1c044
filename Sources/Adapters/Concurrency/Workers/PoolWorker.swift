internal import CLagBeacon
internal import CLagLinux
internal import LagActivity
internal import LagCapture
internal import LagModel

/// A thread of a pool, as a sampled loop: one turn is one job.
///
/// The watchdog's thread (``WorkerSampler``) writes its beacon, from what it can read of the thread without the thread's
/// participation.
// Unchecked: the beacon, the identity and the name are immutable; only the watchdog's thread uses the rest.
final class PoolWorker: JobLoop, @unchecked Sendable {
    let beacon = ActivityBeacon()
    let thread: ThreadIdentity
    let name: String
    private let source: JobSource
    private let handle: JobThread
    private var meter: JobMeter
    private var counter = JobCounter()
    /// The name of the pool's threads; nil: this thread had that name while it ran a job.
    private var expectedName: cll_name?
    private(set) var sampledStretches = SampledStretches()

    /// - Parameters:
    ///   - name: the pool's.
    ///   - threadName: the name of the pool's threads.
    ///   - since: when the thread did not exist yet, or was not watched yet (`CLOCK_MONOTONIC`, nanoseconds): nothing before that
    ///     counts.
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

    /// How long it has certainly run the present job.
    func age(at now: UInt64) -> UInt64 { meter.isAtWork ? now.saturatingDifference(meter.began.latest) : 0 }

    /// Samples, and publishes. For an idle thread some µs, for a working one some 20.
    /// - Parameter restedUntil: if the thread was idle at its last sample, it still was at this time.
    /// - Returns: whether the thread still exists, and still belongs to the pool.
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
            // Whether it is one job matters only if it lasts.
            counter.open(handle.tid, function: source.function)
            if found.begun == nil, let begun = counter.begun {
                // Otherwise a job that began before counting would be taken for the same job.
                if hasStayed(since: found) { meter.beginCounting(at: begun) } else { counter.close() }
            }
        }
        return true
    }

    /// A thread is found by its name. A new thread has its creator's name until it first runs, and the creator may belong to
    /// another pool. Checked once, when it runs a job.
    private func isOfPool() -> Bool {
        guard var name = expectedName else { return true }
        guard cll_pool_has_thread(&name, handle.tid) != 0 else { return false }
        expectedName = nil
        return true
    }

    /// On a busy machine, its sample may be a while ago. Whether the thread has not slept since then: if so, it is at the same
    /// job.
    private func hasStayed(since sample: JobSample) -> Bool {
        if cll_thread_cpu_ns(handle.tid) == sample.cpuNanoseconds { return true }
        guard let sleeps = sample.sleeps, let state = ThreadState(tid: handle.tid) else { return false }
        return state.voluntarySwitches == sleeps
    }

    /// It is no longer sampled.
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
        // What was read in between belongs to the job only if the job still runs.
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
