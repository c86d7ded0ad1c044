internal import CLagLinux
internal import LagModel
import Testing

@testable import LagDetection

/// Processor time of a stall whose beginning and end were not read.
struct UsageMeterTests {
    @Test func `the clock at a time is bounded by the readings around it`() {
        let anchor = UsageMeter.Anchor(before: .reading(100, 1000), after: .reading(150, 1030))
        // 20 ms after the first, 30 before the second.
        #expect(anchor.bounds(at: 120 * millisecond) == 1000 * millisecond...1020 * millisecond)
        // 40 and 10: it cannot be more than 10 below the second.
        #expect(anchor.bounds(at: 140 * millisecond) == 1020 * millisecond...1030 * millisecond)
        #expect(anchor.bounds(at: 150 * millisecond) == 1030 * millisecond...1030 * millisecond)
        #expect(anchor.bounds(at: 100 * millisecond) == 1000 * millisecond...1000 * millisecond)
    }

    @Test func `without an earlier reading only the later one bounds the clock`() {
        let anchor = UsageMeter.Anchor(before: nil, after: .reading(150, 1030))
        #expect(anchor.bounds(at: 120 * millisecond) == 1000 * millisecond...1030 * millisecond)
        // A reading that is not before the time gives no bound either.
        let late = UsageMeter.Anchor(before: .reading(130, 1025), after: .reading(150, 1030))
        #expect(late.bounds(at: 120 * millisecond) == 1000 * millisecond...1030 * millisecond)
    }

    @Test func `an idle loop that blocks has used no processor time`() {
        let usage = UsageMeter(cpuAt100: 1000, cpuAt150: 1000).usage(130, 400, .totals(400, cpu: 1000))
        #expect(usage.cpuNanoseconds == 0 && usage.blockedNanoseconds == 270 * millisecond)
        #expect(usage.runDelayNanoseconds == nil && usage.systemNanoseconds == nil && usage.minorFaults == nil)
    }

    @Test func `an idle loop that computes has used processor time for the whole stall`() {
        let usage = UsageMeter(cpuAt100: 1000, cpuAt150: 1020).usage(130, 400, .totals(400, cpu: 1270))
        #expect(usage.cpuNanoseconds == 270 * millisecond && usage.blockedNanoseconds == 0)
    }

    /// It worked before the callout: not all processor time between the readings is the stall's.
    @Test func `a busy loop that blocks is not charged for the work before`() {
        let usage = UsageMeter(cpuAt100: 1000, cpuAt150: 1030).usage(130, 400, .totals(400, cpu: 1030))
        #expect(usage.cpuNanoseconds == 0)
    }

    @Test func `the part without readings is assumed to be like the rest`() {
        // Half busy after the reading at 150, and probably also before it.
        let usage = UsageMeter(cpuAt100: 1000, cpuAt150: 1025).usage(130, 350, .totals(350, cpu: 1125))
        #expect(usage.cpuNanoseconds == 110 * millisecond && usage.blockedNanoseconds == 110 * millisecond)
    }

    @Test func `a stall that spans callouts is measured from the wake on`() {
        var meter = UsageMeter()
        meter.record(.reading(100, 0), .beacon(1, since: 90, woke: 90))
        meter.record(.reading(110, 9), .beacon(2, since: 101, woke: 101))
        meter.record(.reading(300, 199), .beacon(3, since: 290, woke: 101))
        meter.record(.reading(400, 299), .beacon(4, since: 390, woke: 101))
        let all = meter.usage(
            since: 101 * millisecond,
            until: 500 * millisecond,
            length: 399 * millisecond,
            spansCallouts: true,
            .totals(500, cpu: 399)
        )
        #expect(all.cpuNanoseconds == 399 * millisecond)
        #expect(meter.callout?.after == .reading(400, 299) && meter.wake?.after == .reading(110, 9))
    }

    /// The end is reported a round later, when the next callout has already been seen.
    @Test func `the readings around the beginning are kept until the end is reported`() {
        var meter = UsageMeter()
        meter.record(.reading(50, 1000), .beacon(1, since: 40, woke: 40))
        meter.record(.reading(101, 1000), .beacon(2, since: 100, woke: 100))
        meter.begin(.callout, since: 100 * millisecond)
        // A sleep of 2 s, then a callout that computes.
        meter.record(.reading(2116, 1016), .beacon(3, since: 2100, woke: 2100))
        let usage = meter.usage(100, 2100, .totals(2116, cpu: 1016))
        #expect((usage.cpuNanoseconds ?? .max) <= 16 * millisecond)
        // From then on, the callout that was seen meanwhile has its own anchor.
        meter.end()
        meter.record(.reading(2150, 1050), .beacon(3, since: 2100, woke: 2100))
        #expect(meter.callout?.after == .reading(2116, 1016))
    }

    @Test func `a stall that the first sample finds is measured from that sample`() {
        var meter = UsageMeter()
        meter.record(.reading(50, 1000), .beacon(1, since: 40, woke: 40))
        meter.begin(.callout, since: 100 * millisecond)
        meter.record(.reading(300, 1200), .beacon(2, since: 100, woke: 100))
        #expect(meter.callout == UsageMeter.Anchor(before: .reading(50, 1000), after: .reading(300, 1200)))
    }

    /// The wake is read after the callout has begun, and the word changes once more after that.
    @Test func `the reading next to the beginning counts`() {
        var meter = UsageMeter()
        meter.record(.reading(50, 1000), .beacon(1, since: 40, woke: 40))
        meter.record(.reading(101, 1001), .beacon(2, since: 100, woke: 100))
        meter.record(.reading(150, 1050), .beacon(3, since: 100, woke: 100))
        #expect(meter.callout == UsageMeter.Anchor(before: .reading(50, 1000), after: .reading(101, 1001)))
        let usage = meter.usage(100, 400, .totals(400, cpu: 1100))
        // Except for the millisecond before it, which is estimated.
        #expect((99 * millisecond...100 * millisecond).contains(usage.cpuNanoseconds ?? 0))
    }

    @Test func `a stall whose beginning was not seen is measured from its first sign`() {
        var meter = UsageMeter()
        meter.first = .totals(250, cpu: 1000, delay: 0)
        let usage = meter.usage(200, 450, .totals(450, cpu: 1100, delay: 0))
        // 100 of 200 ms were observed, so 25 of the 50 before.
        #expect(usage.cpuNanoseconds == 125 * millisecond)
    }

    @Test func `without a reading from the stall the usage is unknown`() {
        var meter = UsageMeter(cpuAt100: 1000, cpuAt150: 1030)
        meter.first = .totals(190, cpu: 1060, delay: 0)
        #expect(meter.usage(200, 400, .totals(400, cpu: 1200)) == ThreadUsage())
        #expect(UsageMeter().usage(200, 400, .totals(400, cpu: 1200)) == ThreadUsage())
    }

    @Test func `the usage does not exceed the length of the stall`() {
        // Read 60 ms after the end, in which the loop continued to compute.
        let usage = UsageMeter(cpuAt100: 1000, cpuAt150: 1020).usage(130, 400, .totals(460, cpu: 1330))
        #expect(usage.cpuNanoseconds == 270 * millisecond && usage.blockedNanoseconds == 0)
    }

    @Test func `time in which the process could not run is not blocked time`() {
        let usage = UsageMeter(cpuAt100: 1000, cpuAt150: 1020).usage(130, 400, length: 170, .totals(400, cpu: 1170))
        // 150 of 250 ms, and 12 of the 20 before.
        #expect(usage.cpuNanoseconds == 162 * millisecond && usage.blockedNanoseconds == 8 * millisecond)
    }

    /// The kernel gave the thread's number to another thread, whose clock is younger.
    @Test func `a clock that goes back does no harm`() {
        let meter = UsageMeter(cpuAt100: 1000, cpuAt150: 0)
        let usage = meter.usage(130, 400, .totals(400, cpu: 100))
        #expect((usage.cpuNanoseconds ?? 0) <= 270 * millisecond)
        #expect((usage.cpuNanoseconds ?? 0) + (usage.blockedNanoseconds ?? 0) == 270 * millisecond)
    }

    @Test func `the time that a thread ran after the end does not belong to the stall`() {
        // Asleep until the end at 300; the watchdog was 100 ms late, while the thread computed.
        var meter = UsageMeter(cpuAt100: 1000, cpuAt150: 1000)
        meter.record(.reading(290, 1000), .beacon(0, since: 130, woke: 130))
        let usage = meter.usage(130, 300, .totals(400, cpu: 1100))
        #expect((usage.cpuNanoseconds ?? .max) < 10 * millisecond)
        // A thread cannot use more processor time than has elapsed: so that much of it was before the end.
        let busy = meter.usage(130, 300, .totals(400, cpu: 1110))
        #expect(busy.cpuNanoseconds == 10 * millisecond)
    }

    @Test func `impossible times do no harm`() {
        var meter = UsageMeter()
        meter.record(UsageMeter.Reading(time: 0, cpu: .max), BeaconReading(word: 1, calloutNanoseconds: .max, wokeNanoseconds: 1))
        meter.record(
            UsageMeter.Reading(time: .max - 1, cpu: .max),
            BeaconReading(word: 2, calloutNanoseconds: 0, wokeNanoseconds: .max)
        )
        meter.first = UsageMeter.Totals(reading: UsageMeter.Reading(time: 1, cpu: .max), times: .zero, faults: nil)
        let last = UsageMeter.Totals(
            reading: UsageMeter.Reading(time: .max, cpu: .max),
            times: ThreadTimes(cpuNanoseconds: .max, runDelayNanoseconds: .max),
            faults: nil
        )
        for since: UInt64 in [0, 1, .max / 2, .max - 1] {
            let usage = meter.usage(since: since, until: .max, length: .max - since, spansCallouts: false, last)
            #expect((usage.cpuNanoseconds ?? 0) <= .max - since)
        }
    }

    @Test func `the totals of the current thread can be read`() throws {
        let totals = try #require(UsageMeter.Totals(tid: cll_gettid(), at: 5))
        #expect(totals.reading.time == 5 && totals.reading.cpu > 0)
        #expect(totals.faults != nil)
        // One above the kernel's largest number (PID_MAX_LIMIT).
        #expect(UsageMeter.Totals(tid: 4 * 1024 * 1024 + 1, at: 5) == nil)
    }
}
