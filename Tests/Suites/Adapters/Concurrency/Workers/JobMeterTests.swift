internal import LagActivity
import Testing

@testable import LagMonitorConcurrency

private let millisecond: UInt64 = 1_000_000

struct JobMeterTests {
    /// A thread that was at rest at 0 and is found running a job at 50 ms.
    private func meter(at job: UInt64 = 1, cpu: UInt64 = 10, sleeps: UInt64? = 5, begun: UInt64? = nil) -> JobMeter {
        var meter = JobMeter(since: 0)
        #expect(observe(&meter, 0, cpu: 5, sleeps: 4, at: 0) == .nothing)
        #expect(observe(&meter, job, cpu: cpu, sleeps: sleeps, begun: begun, at: 50) == .work)
        return meter
    }

    @Test func `a sampled stack belongs to a job only while the job continues`() {
        let meter = meter(begun: 3)
        var sample = JobSample(job: 1)
        (sample.cpuNanoseconds, sample.begun) = (20, 3)
        #expect(meter.isContinued(sample))
        sample.begun = 4
        #expect(!meter.isContinued(sample))
        (sample.job, sample.begun) = (2, 3)
        #expect(!meter.isContinued(sample))
        sample.job = 0
        #expect(!meter.isContinued(sample))
    }

    private func observe(
        _ meter: inout JobMeter,
        _ job: UInt64,
        cpu: UInt64 = 10,
        sleeps: UInt64? = nil,
        isAsleep: Bool = false,
        begun: UInt64? = nil,
        at time: UInt64
    ) -> JobMeter.Step {
        var sample = JobSample(job: job)
        sample.cpuNanoseconds = cpu
        sample.sleeps = sleeps
        sample.isAsleep = isAsleep
        sample.begun = begun
        return meter.observe(sample, at: time * millisecond, seen: time * millisecond + 1000)
    }

    @Test func `a job begins between two samples, certainly by the second`() {
        let meter = meter()
        #expect(meter.isAtWork)
        #expect(meter.began == TimeBounds(0, likely: 50 * millisecond + 1000, 50 * millisecond + 1000))
    }

    @Test func `a thread that uses no processor time is still in the same job`() {
        var meter = meter()
        for time in 6...40 as ClosedRange<UInt64> { #expect(observe(&meter, 1, at: time * 10) == .nothing) }
        #expect(observe(&meter, 0, cpu: 20, at: 410) == .rest)
        #expect(!meter.isAtWork && meter.ended.earliest == 400 * millisecond && meter.ended.latest == 410 * millisecond + 1000)
    }

    @Test func `a thread that runs and never sleeps is still in the same job`() {
        var meter = meter()
        for time in 6...40 as ClosedRange<UInt64> { #expect(observe(&meter, 1, cpu: time, sleeps: 5, at: time * 10) == .nothing) }
    }

    @Test func `the current sleep of a thread belongs to its job`() {
        var meter = meter()
        #expect(observe(&meter, 1, cpu: 20, sleeps: 6, isAsleep: true, at: 60) == .nothing)
        #expect(observe(&meter, 1, cpu: 20, at: 70) == .nothing)
        #expect(observe(&meter, 1, cpu: 30, sleeps: 7, isAsleep: true, at: 80) == .nothing)
    }

    @Test func `an unseen sleep may have been a rest`() {
        var meter = meter()
        #expect(observe(&meter, 1, cpu: 20, sleeps: 6, at: 60) == .next)
        #expect(meter.began.earliest == 50 * millisecond && meter.ended.earliest == 50 * millisecond)
        #expect(observe(&meter, 1, cpu: 30, sleeps: 8, isAsleep: true, at: 70) == .next)
        #expect(meter.isRepeated)
    }

    @Test func `successive jobs of one task on one thread are separate jobs`() {
        // Blocks for 60 ms, awaits for a moment, blocks again: the waits are never seen.
        var meter = meter()
        var (longest, began): (UInt64, UInt64) = (0, 50)
        var sleeps: UInt64 = 5
        for time in 6...100 as ClosedRange<UInt64> {
            let isNew = time % 6 == 0
            if isNew { sleeps += 2 }
            let step = observe(&meter, 1, cpu: 10 + time / 6, sleeps: isNew ? sleeps : nil, isAsleep: true, at: time * 10)
            #expect(step == (isNew ? .next : .nothing), "\(time)")
            if step == .next { began = time * 10 }
            longest = max(longest, time * 10 - began)
        }
        #expect(longest <= 60)
    }

    @Test func `the length of a job is certain if jobs are counted`() {
        var meter = meter(begun: 7)
        // Forty sleeps within one job.
        for time in 6...40 as ClosedRange<UInt64> {
            #expect(observe(&meter, 1, cpu: time, sleeps: time * 3, begun: 7, at: time * 10) == .nothing)
        }
        // A task that yields never sleeps.
        #expect(observe(&meter, 1, cpu: 50, sleeps: 120, begun: 9, at: 410) == .next)
    }

    @Test func `counting can begin in the middle of a job`() {
        var meter = meter()
        meter.beginCounting(at: 0)
        #expect(observe(&meter, 1, cpu: 20, sleeps: 9, begun: 0, at: 60) == .nothing)
        #expect(observe(&meter, 1, cpu: 30, sleeps: 9, begun: 1, at: 70) == .next)
    }

    @Test func `another task is another job`() {
        var meter = meter()
        #expect(observe(&meter, 2, cpu: 20, sleeps: 5, at: 60) == .next)
        #expect(!meter.isRepeated && meter.ended.latest == meter.began.latest)
    }

    @Test func `without a count of sleeps, used processor time may mean another job`() {
        var meter = meter(sleeps: nil)
        #expect(observe(&meter, 1, at: 60) == .nothing)
        #expect(observe(&meter, 1, cpu: 20, at: 70) == .next)
    }

    @Test func `more is read only of threads that have run`() {
        let meter = meter()
        #expect(!meter.wantsMore(1, cpuNanoseconds: 10))
        #expect(meter.wantsMore(1, cpuNanoseconds: 11) && meter.wantsMore(2, cpuNanoseconds: 10))
        #expect(JobMeter(since: 0).wantsMore(1, cpuNanoseconds: 0))
    }

    @Test func `a rest lasts until the last time at which no thread had run`() {
        var meter = JobMeter(since: 0)
        // Not for a thread that was never sampled.
        meter.recordRest(until: 20 * millisecond)
        #expect(observe(&meter, 0, at: 30) == .nothing)
        meter.recordRest(until: 450 * millisecond)
        #expect(observe(&meter, 1, cpu: 20, at: 500) == .work)
        #expect(meter.began.earliest == 450 * millisecond)
        // While it works, every sample counts.
        meter.recordRest(until: 900 * millisecond)
        #expect(observe(&meter, 0, cpu: 30, at: 510) == .rest)
        #expect(meter.ended.earliest == 500 * millisecond)
    }

    @Test func `the job of a new thread began after the last search that did not find the thread`() {
        var meter = JobMeter(since: 40 * millisecond)
        #expect(observe(&meter, 1, at: 50) == .work)
        #expect(meter.began.earliest == 40 * millisecond)
    }
}
