internal import LagActivity
import Testing

@testable import LagDetection

/// Time that cannot have been a pause of the process.
struct UsageMeterPauseTests {
    @Test func `the time that a thread surely ran since a given time is calculated`() {
        let meter = UsageMeter(cpuAt100: 1000, cpuAt150: 1020)
        let turned = BeaconReading(100, .beforeSources, at: 160 * millisecond, woke: 160 * millisecond)
        // 300 ms since the reading at 150, all after it.
        #expect(meter.ran(since: 150 * millisecond, .reading(450, 1320), turned) == 300 * millisecond)
        // Up to 20 ms of them may be from before 170.
        #expect(meter.ran(since: 170 * millisecond, .reading(450, 1320), turned) == 280 * millisecond)
        #expect(meter.ran(since: 100 * millisecond, .reading(450, 1120), turned) == 100 * millisecond)
        #expect(meter.ran(since: 400 * millisecond, .reading(450, 1120), turned) == 0)
        // More than the clock allows is capped, and another thread's clock gives no information.
        #expect(meter.ran(since: 150 * millisecond, .reading(450, 9999), turned) == 300 * millisecond)
        #expect(meter.ran(since: 150 * millisecond, .reading(450, 3), turned) == 0)
        #expect(UsageMeter().ran(since: 150 * millisecond, .reading(450, 1320), turned) == 0)
    }

    /// A loop rested at 100 and woke at 2000, when its thread began to fork: the watchdog was delayed since then.
    @Test func `the time that a thread ran after its first wake was not before the wake`() {
        var meter = UsageMeter()
        meter.record(.reading(100, 1000), BeaconReading(7, .waiting, at: 90 * millisecond, woke: 80 * millisecond))
        let woken = BeaconReading(8, .afterWaiting, at: 2000 * millisecond, woke: 2000 * millisecond)
        #expect(meter.ran(since: 2000 * millisecond, .reading(2200, 1150), woken) == 150 * millisecond)
        #expect(meter.ran(since: 2050 * millisecond, .reading(2200, 1150), woken) == 100 * millisecond)
        // It may have woken earlier.
        let turned = BeaconReading(20, .afterWaiting, at: 2000 * millisecond, woke: 2000 * millisecond)
        #expect(meter.ran(since: 2000 * millisecond, .reading(2200, 1150), turned) == 0)
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
}
