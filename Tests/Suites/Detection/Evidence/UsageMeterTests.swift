internal import CLagLinux
internal import LagActivity
import Testing

@testable import LagDetection

struct UsageMeterTests {
    private typealias Reading = UsageMeter.Reading

    private static func totals(
        _ milliseconds: UInt64,
        cpu: UInt64,
        delay: UInt64? = nil,
        system: UInt64 = 0,
        minor: UInt64 = 0,
        major: UInt64 = 0
    ) -> UsageMeter.Totals {
        var faults = cll_thread_faults()
        (faults.minor, faults.major, faults.system_ns) = (minor, major, system * millisecond)
        return UsageMeter.Totals(
            reading: reading(milliseconds, cpu),
            times: delay.map { ThreadTimes(cpuNanoseconds: 0, runDelayNanoseconds: $0 * millisecond) },
            faults: delay == nil ? nil : faults
        )
    }

    private static func reading(_ milliseconds: UInt64, _ cpu: UInt64) -> Reading {
        Reading(time: milliseconds * millisecond, cpu: cpu * millisecond)
    }

    private func usage(_ meter: UsageMeter, _ since: UInt64, _ until: UInt64, length: UInt64? = nil, _ last: UsageMeter.Totals)
        -> ThreadUsage
    {
        meter.usage(
            since: since * millisecond,
            until: until * millisecond,
            length: (length ?? until - since) * millisecond,
            spansCallouts: false,
            last
        )
    }

    private static func beacon(_ word: UInt64, since: UInt64, woke: UInt64) -> BeaconReading {
        BeaconReading(word: word, calloutNanoseconds: since * millisecond, wokeNanoseconds: woke * millisecond)
    }

    /// Readings at 100 and 150 ms; the callout began between them.
    private func meter(cpuAt100: UInt64, cpuAt150: UInt64) -> UsageMeter {
        var meter = UsageMeter()
        meter.record(Self.reading(100, cpuAt100), Self.beacon(1, since: 90, woke: 90))
        meter.record(Self.reading(150, cpuAt150), Self.beacon(2, since: 130, woke: 130))
        return meter
    }

    // MARK: The unseen beginning

    @Test func `the clock at a time is bounded by the readings around it`() {
        let anchor = UsageMeter.Anchor(before: Self.reading(100, 1000), after: Self.reading(150, 1030))
        // 20 ms after the first, 30 before the second.
        #expect(anchor.bounds(at: 120 * millisecond) == 1000 * millisecond...1020 * millisecond)
        // 40 and 10: it cannot be more than 10 below the second.
        #expect(anchor.bounds(at: 140 * millisecond) == 1020 * millisecond...1030 * millisecond)
        #expect(anchor.bounds(at: 150 * millisecond) == 1030 * millisecond...1030 * millisecond)
        #expect(anchor.bounds(at: 100 * millisecond) == 1000 * millisecond...1000 * millisecond)
    }

    @Test func `without an earlier reading only the later one bounds the clock`() {
        let anchor = UsageMeter.Anchor(before: nil, after: Self.reading(150, 1030))
        #expect(anchor.bounds(at: 120 * millisecond) == 1000 * millisecond...1030 * millisecond)
        // A reading that is not before the time gives no bound either.
        let late = UsageMeter.Anchor(before: Self.reading(130, 1025), after: Self.reading(150, 1030))
        #expect(late.bounds(at: 120 * millisecond) == 1000 * millisecond...1030 * millisecond)
    }

    @Test func `an idle loop that blocks has used no processor time`() {
        let usage = usage(meter(cpuAt100: 1000, cpuAt150: 1000), 130, 400, Self.totals(400, cpu: 1000))
        #expect(usage.cpuNanoseconds == 0 && usage.blockedNanoseconds == 270 * millisecond)
        #expect(usage.runDelayNanoseconds == nil && usage.systemNanoseconds == nil && usage.minorFaults == nil)
    }

    @Test func `an idle loop that computes has used processor time for the whole stall`() {
        let usage = usage(meter(cpuAt100: 1000, cpuAt150: 1020), 130, 400, Self.totals(400, cpu: 1270))
        #expect(usage.cpuNanoseconds == 270 * millisecond && usage.blockedNanoseconds == 0)
    }

    /// It worked before the callout: not all processor time between the readings is the stall's.
    @Test func `a busy loop that blocks is not charged for the work before`() {
        let usage = usage(meter(cpuAt100: 1000, cpuAt150: 1030), 130, 400, Self.totals(400, cpu: 1030))
        #expect(usage.cpuNanoseconds == 0)
    }

    @Test func `the part without readings is assumed to be like the rest`() {
        // Half busy after the reading at 150, and probably also before it.
        let usage = usage(meter(cpuAt100: 1000, cpuAt150: 1025), 130, 350, Self.totals(350, cpu: 1125))
        #expect(usage.cpuNanoseconds == 110 * millisecond && usage.blockedNanoseconds == 110 * millisecond)
    }

    @Test func `a stall that spans callouts is measured from the wake on`() {
        var meter = UsageMeter()
        meter.record(Self.reading(100, 0), Self.beacon(1, since: 90, woke: 90))
        meter.record(Self.reading(110, 9), Self.beacon(2, since: 101, woke: 101))
        meter.record(Self.reading(300, 199), Self.beacon(3, since: 290, woke: 101))
        meter.record(Self.reading(400, 299), Self.beacon(4, since: 390, woke: 101))
        let all = meter.usage(
            since: 101 * millisecond,
            until: 500 * millisecond,
            length: 399 * millisecond,
            spansCallouts: true,
            Self.totals(500, cpu: 399)
        )
        #expect(all.cpuNanoseconds == 399 * millisecond)
        #expect(meter.callout?.after == Self.reading(400, 299) && meter.wake?.after == Self.reading(110, 9))
    }

    /// The end is reported a round later, when the next callout has already been seen.
    @Test func `the readings around the beginning are kept until the end is reported`() {
        var meter = UsageMeter()
        meter.record(Self.reading(50, 1000), Self.beacon(1, since: 40, woke: 40))
        meter.record(Self.reading(101, 1000), Self.beacon(2, since: 100, woke: 100))
        meter.begin(.callout, since: 100 * millisecond)
        // A sleep of 2 s, then a callout that computes.
        meter.record(Self.reading(2116, 1016), Self.beacon(3, since: 2100, woke: 2100))
        let usage = usage(meter, 100, 2100, Self.totals(2116, cpu: 1016))
        #expect((usage.cpuNanoseconds ?? .max) <= 16 * millisecond)
        // From then on, the callout that was seen meanwhile has its own anchor.
        meter.end()
        meter.record(Self.reading(2150, 1050), Self.beacon(3, since: 2100, woke: 2100))
        #expect(meter.callout?.after == Self.reading(2116, 1016))
    }

    @Test func `a stall that the first sample finds is measured from that sample`() {
        var meter = UsageMeter()
        meter.record(Self.reading(50, 1000), Self.beacon(1, since: 40, woke: 40))
        meter.begin(.callout, since: 100 * millisecond)
        meter.record(Self.reading(300, 1200), Self.beacon(2, since: 100, woke: 100))
        #expect(meter.callout == UsageMeter.Anchor(before: Self.reading(50, 1000), after: Self.reading(300, 1200)))
    }

    /// The wake is read after the callout has begun, and the word changes once more after that.
    @Test func `the reading next to the beginning counts`() {
        var meter = UsageMeter()
        meter.record(Self.reading(50, 1000), Self.beacon(1, since: 40, woke: 40))
        meter.record(Self.reading(101, 1001), Self.beacon(2, since: 100, woke: 100))
        meter.record(Self.reading(150, 1050), Self.beacon(3, since: 100, woke: 100))
        #expect(meter.callout == UsageMeter.Anchor(before: Self.reading(50, 1000), after: Self.reading(101, 1001)))
        let usage = usage(meter, 100, 400, Self.totals(400, cpu: 1100))
        // Except for the millisecond before it, which is estimated.
        #expect((99 * millisecond...100 * millisecond).contains(usage.cpuNanoseconds ?? 0))
    }

    @Test func `a stall whose beginning was not seen is measured from its first sign`() {
        var meter = UsageMeter()
        meter.first = Self.totals(250, cpu: 1000, delay: 0)
        let usage = usage(meter, 200, 450, Self.totals(450, cpu: 1100, delay: 0))
        // 100 of 200 ms were observed, so 25 of the 50 before.
        #expect(usage.cpuNanoseconds == 125 * millisecond)
    }

    @Test func `without a reading from the stall the usage is unknown`() {
        var meter = meter(cpuAt100: 1000, cpuAt150: 1030)
        meter.first = Self.totals(190, cpu: 1060, delay: 0)
        #expect(usage(meter, 200, 400, Self.totals(400, cpu: 1200)) == ThreadUsage())
        #expect(usage(UsageMeter(), 200, 400, Self.totals(400, cpu: 1200)) == ThreadUsage())
    }

    // MARK: The end

    @Test func `the usage does not exceed the length of the stall`() {
        // Read 60 ms after the end, in which the loop continued to compute.
        let usage = usage(meter(cpuAt100: 1000, cpuAt150: 1020), 130, 400, Self.totals(460, cpu: 1330))
        #expect(usage.cpuNanoseconds == 270 * millisecond && usage.blockedNanoseconds == 0)
    }

    @Test func `time in which the process could not run is not blocked time`() {
        let usage = usage(meter(cpuAt100: 1000, cpuAt150: 1020), 130, 400, length: 170, Self.totals(400, cpu: 1170))
        // 150 of 250 ms, and 12 of the 20 before.
        #expect(usage.cpuNanoseconds == 162 * millisecond && usage.blockedNanoseconds == 8 * millisecond)
    }

    /// The kernel gave the thread's number to another thread, whose clock is younger.
    @Test func `a clock that goes back does no harm`() {
        let meter = meter(cpuAt100: 1000, cpuAt150: 0)
        let usage = usage(meter, 130, 400, Self.totals(400, cpu: 100))
        #expect((usage.cpuNanoseconds ?? 0) <= 270 * millisecond)
        #expect((usage.cpuNanoseconds ?? 0) + (usage.blockedNanoseconds ?? 0) == 270 * millisecond)
    }

    // MARK: Time that cannot have been a pause

    @Test func `the time that a thread surely ran since a given time is calculated`() {
        let meter = meter(cpuAt100: 1000, cpuAt150: 1020)
        let turned = BeaconReading(100, .beforeSources, at: 160 * millisecond, woke: 160 * millisecond)
        // 300 ms since the reading at 150, all after it.
        #expect(meter.ran(since: 150 * millisecond, Self.reading(450, 1320), turned) == 300 * millisecond)
        // Up to 20 ms of them may be from before 170.
        #expect(meter.ran(since: 170 * millisecond, Self.reading(450, 1320), turned) == 280 * millisecond)
        #expect(meter.ran(since: 100 * millisecond, Self.reading(450, 1120), turned) == 100 * millisecond)
        #expect(meter.ran(since: 400 * millisecond, Self.reading(450, 1120), turned) == 0)
        // More than the clock allows is capped, and another thread's clock gives no information.
        #expect(meter.ran(since: 150 * millisecond, Self.reading(450, 9999), turned) == 300 * millisecond)
        #expect(meter.ran(since: 150 * millisecond, Self.reading(450, 3), turned) == 0)
        #expect(UsageMeter().ran(since: 150 * millisecond, Self.reading(450, 1320), turned) == 0)
    }

    /// A loop rested at 100 and woke at 2000, when its thread began to fork: the watchdog was delayed since then.
    @Test func `the time that a thread ran after its first wake was not before the wake`() {
        var meter = UsageMeter()
        meter.record(Self.reading(100, 1000), BeaconReading(7, .waiting, at: 90 * millisecond, woke: 80 * millisecond))
        let woken = BeaconReading(8, .afterWaiting, at: 2000 * millisecond, woke: 2000 * millisecond)
        #expect(meter.ran(since: 2000 * millisecond, Self.reading(2200, 1150), woken) == 150 * millisecond)
        #expect(meter.ran(since: 2050 * millisecond, Self.reading(2200, 1150), woken) == 100 * millisecond)
        // It may have woken earlier.
        let turned = BeaconReading(20, .afterWaiting, at: 2000 * millisecond, woke: 2000 * millisecond)
        #expect(meter.ran(since: 2000 * millisecond, Self.reading(2200, 1150), turned) == 0)
    }

    @Test func `a pause is no longer than the time in which the thread did not run`() {
        let pause = ProcessPause(from: 100, to: 400, atLeast: 200, atMost: 280)
        func limited(_ ran: UInt64) -> ProcessPause? { pause.limited(in: 300, ran: ran, waited: 0) }
        #expect(limited(290) == ProcessPause(from: 100, to: 400, atLeast: 10, atMost: 10, mostRun: 100))
        #expect(limited(50) == ProcessPause(from: 100, to: 400, atLeast: 200, atMost: 250, mostRun: 100))
        #expect(limited(0) == pause && limited(300) == nil)
        // A pause found by a scan, which most likely waited for the kernel.
        let scan = ProcessPause(from: 100, to: 400, atLeast: 0, atMost: 280, likely: 0, mostRun: 300)
        #expect(scan.limited(in: 300, ran: 200, waited: 0)?.likely == 0 && limited(100)?.likely == 200)
    }

    /// A `fork` of a large process delayed the watchdog for 700 ms, of which the loop's thread ran 350 and waited 340 for its
    /// processor.
    @Test func `a thread that ran longer than a pause allows shows that there was no pause`() {
        func pause(atLeast: UInt64, atMost: UInt64, likely: UInt64? = nil, mostRun: UInt64? = nil) -> ProcessPause {
            ProcessPause(
                from: 0,
                to: 700 * millisecond,
                atLeast: atLeast * millisecond,
                atMost: atMost * millisecond,
                likely: likely.map { $0 * millisecond },
                mostRun: mostRun.map { $0 * millisecond }
            )
        }
        func limited(_ pause: ProcessPause, ran: UInt64, waited: UInt64) -> ProcessPause? {
            pause.limited(in: 700 * millisecond, ran: ran * millisecond, waited: waited * millisecond)
        }
        let late = pause(atLeast: 690, atMost: 700)
        #expect(limited(late, ran: 350, waited: 340) == nil)
        // What neither explains may be a pause, but most likely was not.
        #expect(limited(late, ran: 350, waited: 200) == pause(atLeast: 0, atMost: 150, likely: 0, mostRun: 10))
        // Until the wait was due, the thread could run before it was stopped. Linux 6.18 counts part of a stop as waiting for a
        // processor.
        #expect(limited(late, ran: 10, waited: 690) == pause(atLeast: 690, atMost: 690, mostRun: 10))
        // Nor is a scan a pause if it took long because the watchdog waited for the kernel.
        #expect(limited(pause(atLeast: 0, atMost: 700, mostRun: 5), ran: 350, waited: 340) == nil)
    }

    @Test func `the wait for a processor since the last reading is known if both readings contain it`() {
        var meter = UsageMeter()
        #expect(meter.waited(until: .init(time: 9, cpu: 9, runDelay: 9)) == 0)
        meter.record(.init(time: 10, cpu: 10, runDelay: 100), BeaconReading(7, .beforeSources, at: 0, woke: 0))
        #expect(meter.waited(until: .init(time: 20, cpu: 11, runDelay: 130)) == 30)
        #expect(meter.waited(until: .init(time: 20, cpu: 11, runDelay: nil)) == 0)
    }

    @Test func `the time that a thread ran after the end does not belong to the stall`() {
        // Asleep until the end at 300; the watchdog was 100 ms late, while the thread computed.
        var meter = meter(cpuAt100: 1000, cpuAt150: 1000)
        let beacon = BeaconReading(word: 0, calloutNanoseconds: 130 * millisecond, wokeNanoseconds: 130 * millisecond)
        meter.record(Self.reading(290, 1000), beacon)
        let usage = usage(meter, 130, 300, Self.totals(400, cpu: 1100))
        #expect((usage.cpuNanoseconds ?? .max) < 10 * millisecond)
        // A thread cannot use more processor time than has elapsed: so that much of it was before the end.
        let busy = self.usage(meter, 130, 300, Self.totals(400, cpu: 1110))
        #expect(busy.cpuNanoseconds == 10 * millisecond)
    }

    // MARK: Readings at the first sign

    @Test func `run delay and kernel time are scaled to the whole stall`() {
        var meter = meter(cpuAt100: 1000, cpuAt150: 1020)
        meter.first = Self.totals(280, cpu: 1085, delay: 50, system: 10, minor: 100, major: 1)
        let usage = usage(meter, 130, 430, Self.totals(430, cpu: 1160, delay: 80, system: 40, minor: 150, major: 3))
        // 140 of the 280 ms after the reading at 150, and so 10 of the 20 before it.
        #expect(usage.cpuNanoseconds == 150 * millisecond)
        #expect(usage.runDelayNanoseconds == 60 * millisecond)
        #expect((usage.minorFaults, usage.majorFaults) == (50, 2))
        // 30 of 75 ms were kernel time.
        #expect(usage.systemNanoseconds == usage.cpuNanoseconds! * 30 / 75)
    }

    @Test func `no reported time exceeds the time of the stall`() {
        var meter = meter(cpuAt100: 1000, cpuAt150: 1000)
        meter.first = Self.totals(150, cpu: 1000, delay: 0)
        let usage = usage(meter, 150, 350, Self.totals(350, cpu: 1050, delay: 900, system: 70))
        #expect(usage.cpuNanoseconds == 50 * millisecond && usage.runDelayNanoseconds == 150 * millisecond)
        #expect(usage.blockedNanoseconds == 0)
        // Kernel time is sampled, and may seem to exceed the total.
        #expect(usage.systemNanoseconds == 50 * millisecond)
    }

    // MARK: With a quota

    private static func reading(_ milliseconds: UInt64, _ cpu: UInt64, delay: UInt64) -> Reading {
        Reading(time: milliseconds * millisecond, cpu: cpu * millisecond, runDelay: delay * millisecond)
    }

    /// The watchdog is delayed together with the loop: it sees the stall only near its end, and no delay from then on.
    @Test func `delay before the first sign counts if it was read`() {
        var meter = UsageMeter()
        meter.record(Self.reading(100, 1000, delay: 40), Self.beacon(1, since: 90, woke: 90))
        meter.record(Self.reading(400, 1015, delay: 325), Self.beacon(2, since: 110, woke: 110))
        meter.first = Self.totals(400, cpu: 1015, delay: 325)
        let usage = usage(meter, 110, 410, Self.totals(410, cpu: 1025, delay: 325))
        #expect(usage.runDelayNanoseconds == 275 * millisecond && usage.cpuNanoseconds == 25 * millisecond)
        #expect(usage.blockedNanoseconds == 0)
    }

    @Test func `the first scan during the stall counts from before its first sign`() {
        var meter = UsageMeter()
        meter.record(Self.reading(100, 1000, delay: 40), Self.beacon(1, since: 100, woke: 100))
        meter.first = Self.totals(400, cpu: 1010, delay: 330)
        let usage = usage(meter, 100, 420, Self.totals(420, cpu: 1030, delay: 330))
        #expect(usage.runDelayNanoseconds == 290 * millisecond && usage.cpuNanoseconds == 30 * millisecond)
        #expect(usage.blockedNanoseconds == 0)
    }

    @Test func `the scaled delay does not exceed the counted delay`() {
        var meter = UsageMeter()
        meter.record(Self.reading(100, 1000, delay: 40), Self.beacon(1, since: 90, woke: 90))
        meter.record(Self.reading(150, 1010, delay: 41), Self.beacon(2, since: 110, woke: 110))
        let usage = usage(meter, 110, 310, Self.totals(310, cpu: 1020, delay: 121))
        // 80 of 160 ms, and so 20 of the 40 before; only 1 was counted.
        #expect(usage.runDelayNanoseconds == 81 * millisecond)
    }

    /// A stall that blocks, after its loop had waited for a processor.
    @Test func `delay from before the stall is not scaled into it`() {
        var meter = UsageMeter()
        meter.record(Self.reading(100, 1000, delay: 0), Self.beacon(1, since: 90, woke: 90))
        meter.record(Self.reading(150, 1001, delay: 30), Self.beacon(2, since: 145, woke: 145))
        let usage = usage(meter, 145, 345, Self.totals(345, cpu: 1001, delay: 30))
        #expect(usage.runDelayNanoseconds == 0)
    }

    @Test func `a stall without a scan waited for a processor if most of it must have been such a wait`() {
        var meter = UsageMeter()
        meter.record(Self.reading(100, 1000, delay: 40), Self.beacon(1, since: 90, woke: 90))
        let certain = usage(meter, 110, 310, Self.totals(312, cpu: 1022, delay: 220))
        #expect(certain.runDelayNanoseconds == 180 * millisecond && certain.cpuNanoseconds == 20 * millisecond)
        #expect(certain.blockedNanoseconds == 0)
        // 100 ms of it may be before the stall, and some after it.
        #expect(usage(meter, 200, 400, Self.totals(402, cpu: 1022, delay: 220)) == ThreadUsage())
        #expect(usage(meter, 110, 310, Self.totals(412, cpu: 1022, delay: 220)) == ThreadUsage())
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
        var meter = meter(cpuAt100: 1000, cpuAt150: 1000)
        meter.first = Self.totals(150, cpu: 1000, delay: 0)
        let (since, until) = (150 * millisecond, 450 * millisecond)
        let last = Self.totals(450, cpu: 1010, delay: 240)
        let usage = [UInt64(0), 150, 280, 900].map {
            meter.usage(
                since: since,
                until: until,
                length: until - since,
                spansCallouts: false,
                asleep: $0 * millisecond,
                last
            )
        }
        #expect(usage.map { ($0.runDelayNanoseconds ?? 0) / millisecond } == [240, 140, 10, 0])
        #expect(usage.map { ($0.blockedNanoseconds ?? 0) / millisecond } == [50, 150, 280, 290])
    }

    @Test func `impossible times do no harm`() {
        var meter = UsageMeter()
        meter.record(Reading(time: 0, cpu: .max), BeaconReading(word: 1, calloutNanoseconds: .max, wokeNanoseconds: 1))
        meter.record(Reading(time: .max - 1, cpu: .max), BeaconReading(word: 2, calloutNanoseconds: 0, wokeNanoseconds: .max))
        meter.first = UsageMeter.Totals(reading: Reading(time: 1, cpu: .max), times: .zero, faults: nil)
        let last = UsageMeter.Totals(
            reading: Reading(time: .max, cpu: .max),
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
