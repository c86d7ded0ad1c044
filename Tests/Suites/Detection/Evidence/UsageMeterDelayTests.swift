import Testing

@testable import LagDetection

/// The wait for a processor, with and without a quota.
struct UsageMeterDelayTests {
    @Test func `run delay and kernel time are scaled to the whole stall`() {
        var meter = UsageMeter(cpuAt100: 1000, cpuAt150: 1020)
        meter.first = .totals(280, cpu: 1085, delay: 50, system: 10, minor: 100, major: 1)
        let usage = meter.usage(130, 430, .totals(430, cpu: 1160, delay: 80, system: 40, minor: 150, major: 3))
        // 140 of the 280 ms after the reading at 150, and so 10 of the 20 before it.
        #expect(usage.cpuNanoseconds == 150 * millisecond)
        #expect(usage.runDelayNanoseconds == 60 * millisecond)
        #expect((usage.minorFaults, usage.majorFaults) == (50, 2))
        // 30 of 75 ms were kernel time.
        #expect(usage.systemNanoseconds == usage.cpuNanoseconds! * 30 / 75)
    }

    @Test func `no reported time exceeds the time of the stall`() {
        var meter = UsageMeter(cpuAt100: 1000, cpuAt150: 1000)
        meter.first = .totals(150, cpu: 1000, delay: 0)
        let usage = meter.usage(150, 350, .totals(350, cpu: 1050, delay: 900, system: 70))
        #expect(usage.cpuNanoseconds == 50 * millisecond && usage.runDelayNanoseconds == 150 * millisecond)
        #expect(usage.blockedNanoseconds == 0)
        // Kernel time is sampled, and may seem to exceed the total.
        #expect(usage.systemNanoseconds == 50 * millisecond)
    }

    /// The watchdog is delayed together with the loop: it sees the stall only near its end, and no delay from then on.
    @Test func `delay before the first sign counts if it was read`() {
        var meter = UsageMeter()
        meter.record(.reading(100, 1000, delay: 40), .beacon(1, since: 90, woke: 90))
        meter.record(.reading(400, 1015, delay: 325), .beacon(2, since: 110, woke: 110))
        meter.first = .totals(400, cpu: 1015, delay: 325)
        let usage = meter.usage(110, 410, .totals(410, cpu: 1025, delay: 325))
        #expect(usage.runDelayNanoseconds == 275 * millisecond && usage.cpuNanoseconds == 25 * millisecond)
        #expect(usage.blockedNanoseconds == 0)
    }

    @Test func `the first scan during the stall counts from before its first sign`() {
        var meter = UsageMeter()
        meter.record(.reading(100, 1000, delay: 40), .beacon(1, since: 100, woke: 100))
        meter.first = .totals(400, cpu: 1010, delay: 330)
        let usage = meter.usage(100, 420, .totals(420, cpu: 1030, delay: 330))
        #expect(usage.runDelayNanoseconds == 290 * millisecond && usage.cpuNanoseconds == 30 * millisecond)
        #expect(usage.blockedNanoseconds == 0)
    }

    @Test func `the scaled delay does not exceed the counted delay`() {
        var meter = UsageMeter()
        meter.record(.reading(100, 1000, delay: 40), .beacon(1, since: 90, woke: 90))
        meter.record(.reading(150, 1010, delay: 41), .beacon(2, since: 110, woke: 110))
        let usage = meter.usage(110, 310, .totals(310, cpu: 1020, delay: 121))
        // 80 of 160 ms, and so 20 of the 40 before; only 1 was counted.
        #expect(usage.runDelayNanoseconds == 81 * millisecond)
    }

    /// A stall that blocks, after its loop had waited for a processor.
    @Test func `delay from before the stall is not scaled into it`() {
        var meter = UsageMeter()
        meter.record(.reading(100, 1000, delay: 0), .beacon(1, since: 90, woke: 90))
        meter.record(.reading(150, 1001, delay: 30), .beacon(2, since: 145, woke: 145))
        let usage = meter.usage(145, 345, .totals(345, cpu: 1001, delay: 30))
        #expect(usage.runDelayNanoseconds == 0)
    }

    @Test func `a stall without a scan waited for a processor if most of it must have been such a wait`() {
        var meter = UsageMeter()
        meter.record(.reading(100, 1000, delay: 40), .beacon(1, since: 90, woke: 90))
        let certain = meter.usage(110, 310, .totals(312, cpu: 1022, delay: 220))
        #expect(certain.runDelayNanoseconds == 180 * millisecond && certain.cpuNanoseconds == 20 * millisecond)
        #expect(certain.blockedNanoseconds == 0)
        // 100 ms of it may be before the stall, and some after it.
        #expect(meter.usage(200, 400, .totals(402, cpu: 1022, delay: 220)) == ThreadUsage())
        #expect(meter.usage(110, 310, .totals(412, cpu: 1022, delay: 220)) == ThreadUsage())
    }

    @Test func `throttled time does not exceed the time the thread waited for a processor`() {
        var usage = ThreadUsage()
        usage.attribute(throttled: 50)
        #expect(usage.throttledNanoseconds == nil)
        usage.runDelayNanoseconds = 280
        usage.attribute(throttled: nil)
        #expect(usage.throttledNanoseconds == nil)
        usage.attribute(throttled: 250)
        #expect(usage.throttledNanoseconds == 250)
        usage.attribute(throttled: 900)
        #expect(usage.throttledNanoseconds == 280)
    }

    /// Linux 6.18 counts some sleep as run delay: 240 ms of these 300.
    @Test func `time in which samples found the thread asleep is not run delay`() {
        var meter = UsageMeter(cpuAt100: 1000, cpuAt150: 1000)
        meter.first = .totals(150, cpu: 1000, delay: 0)
        let usage = [UInt64(0), 150, 280, 900].map {
            meter.usage(150, 450, asleep: $0, .totals(450, cpu: 1010, delay: 240))
        }
        #expect(usage.map { ($0.runDelayNanoseconds ?? 0) / millisecond } == [240, 140, 10, 0])
        #expect(usage.map { ($0.blockedNanoseconds ?? 0) / millisecond } == [50, 150, 280, 290])
    }
}
