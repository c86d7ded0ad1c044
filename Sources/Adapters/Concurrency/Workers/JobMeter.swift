internal import LagActivity
internal import LagModel

/// The result of one sample of a pool's thread.
struct JobSample: Sendable, Equatable {
    /// The job that it runs; 0: none.
    var job: UInt64
    /// The value of its CPU clock.
    var cpuNanoseconds: UInt64 = 0
    /// How often it has gone to sleep voluntarily; nil: not read, because it has not run since the last sample, or the kernel
    /// does not report it.
    var sleeps: UInt64?
    /// Whether it sleeps now.
    var isAsleep = false
    /// How many jobs it has begun since counting started; nil: not counted.
    var begun: UInt64?

    init(job: UInt64) { self.job = job }
}

/// Determines from samples of a thread how long it has run one job. Pure: times are passed in.
///
/// If two samples show the same job, it has not necessarily run all the time: a task that awaits releases its thread, and may get
/// the same one a moment later. So a job continues from one sample to the next only if there is proof:
/// - the thread has not run in between; or
/// - jobs are counted, and it has begun none; or
/// - it has not gone to sleep in between, except for its present sleep, within the job. A thread of a pool sleeps when it has
///   nothing to do. This does not exclude a task that yields its thread (`Task.yield()`) and gets it back at once, all the time:
///   only a count of jobs shows that.
///
/// Otherwise another job has begun since the last sample.
struct JobMeter: Sendable {
    enum Step: Sendable, Equatable {
        /// No change.
        case nothing
        /// A job has ended, ``ended``.
        case rest
        /// A job has begun, ``began``.
        case work
        /// A job has ended, and another has begun.
        case next
    }

    private var last: JobSample?
    private var lastNanoseconds: UInt64
    /// When the present job began: between two samples, and certainly by the second.
    private(set) var began = TimeBounds.exact(0)
    /// When the last one ended.
    private(set) var ended = TimeBounds.exact(0)
    /// Whether the last samples have shown the same number, whether it is one job or several.
    private(set) var isRepeated = false

    /// - Parameter since: when the thread was not working yet, or did not exist yet.
    init(since: UInt64) { lastNanoseconds = since }

    var isAtWork: Bool { (last?.job ?? 0) != 0 }

    /// The number of the job's task (`cll_job.task`); nil: not a task's job.
    var taskNumber: UInt32? {
        guard let job = last?.job, job >> 32 == 1 else { return nil }
        return UInt32(truncatingIfNeeded: job)
    }

    /// Whether more than the CPU clock must be read for a thread at this job: it has run, or nothing is known about it yet.
    func wantsMore(_ job: UInt64, cpuNanoseconds: UInt64) -> Bool {
        guard let last, last.job == job else { return true }
        return last.cpuNanoseconds != cpuNanoseconds || last.sleeps == nil
    }

    /// If the thread was idle at the last sample, it still was at that time: it has not run in between.
    mutating func recordRest(until time: UInt64) {
        if let last, last.job == 0 { lastNanoseconds = max(lastNanoseconds, time) }
    }

    /// From now on jobs are counted.
    mutating func beginCounting(at begun: UInt64) { last?.begun = begun }

    /// - Parameters:
    ///   - now: the time before the thread was sampled.
    ///   - seen: the time after that.
    mutating func observe(_ sample: JobSample, at now: UInt64, seen: UInt64) -> Step {
        let before = last
        let wasAtWork = isAtWork
        let since = lastNanoseconds
        var sample = sample
        isRepeated = wasAtWork && before?.job == sample.job
        // Values that were not read are unchanged.
        if isRepeated, sample.sleeps == nil, before?.cpuNanoseconds == sample.cpuNanoseconds { sample.sleeps = before?.sleeps }
        last = sample
        lastNanoseconds = now
        guard sample.job != 0 || wasAtWork else { return .nothing }
        if let before, isRepeated, Self.isSame(before, sample) { return .nothing }
        let bounds = TimeBounds(since, likely: since + seen.saturatingDifference(since) / 2, seen)
        if wasAtWork { ended = bounds }
        guard sample.job != 0 else { return .rest }
        // It is certainly at it only since now.
        began = TimeBounds(since, likely: seen, seen)
        return wasAtWork ? .next : .work
    }

    /// Whether a sample shows the job of the last one.
    func isContinued(_ sample: JobSample) -> Bool {
        guard let last, last.job != 0, sample.job == last.job else { return false }
        return Self.isSame(last, sample)
    }

    /// Whether the same job has run from one sample to the next.
    private static func isSame(_ before: JobSample, _ now: JobSample) -> Bool {
        if now.cpuNanoseconds == before.cpuNanoseconds { return true }
        if let begun = now.begun, let begunBefore = before.begun { return begun == begunBefore }
        guard let sleeps = now.sleeps, let sleepsBefore = before.sleeps else { return false }
        return sleeps.saturatingDifference(sleepsBefore) <= (now.isAsleep ? 1 : 0)
    }

    /// The first use of a type may allocate.
    static func warmUp() {
        var meter = JobMeter(since: 0)
        for number in 1...6 as ClosedRange<UInt64> {
            var sample = JobSample(job: number % 4 == 0 ? 0 : 1)
            sample.cpuNanoseconds = number / 2
            sample.sleeps = number
            sample.begun = number > 3 ? 1 : nil
            if meter.wantsMore(sample.job, cpuNanoseconds: number) { meter.beginCounting(at: 1) }
            _ = meter.observe(sample, at: number, seen: number)
        }
    }
}
