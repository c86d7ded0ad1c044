internal import LagMonitor
internal import Testing

@testable internal import lagmond

/// Readings are injected; nothing sleeps.
struct HangMeterTests {
    private static func reading(
        _ milliseconds: UInt64,
        sequence: UInt64 = 1,
        working: Bool = true,
        held: Bool = false,
        waited: Int = 0
    ) -> HangMeter.Reading {
        HangMeter.Reading(
            sequence: sequence,
            isWorking: working,
            time: MonotonicTime(nanoseconds: milliseconds * 1_000_000),
            lag: .milliseconds(milliseconds),
            isStoppedOrTraced: held,
            waitedForProcessor: .milliseconds(waited)
        )
    }

    private static func hung(_ readings: [HangMeter.Reading], gap: Duration = .milliseconds(200)) -> Duration {
        var meter = HangMeter(longestGap: gap)
        for reading in readings { meter.add(reading) }
        return meter.hung
    }

    @Test func `one callback that does not end adds up`() {
        #expect(Self.hung((0...10).map { Self.reading($0 * 100) }) == .seconds(1))
    }

    @Test func `what passed before the first poll counts up to one gap`() {
        #expect(Self.hung([Self.reading(90)]) == .milliseconds(90))
        // It may have been stopped meanwhile: nobody looked.
        #expect(Self.hung([Self.reading(90_000)]) == .milliseconds(200))
    }

    @Test func `another callback begins anew`() {
        var meter = HangMeter(longestGap: .milliseconds(200))
        for time in 0...5 { meter.add(Self.reading(UInt64(time) * 100)) }
        meter.isHandled = true
        var next = Self.reading(600, sequence: 2)
        next.lag = .milliseconds(30)
        meter.add(next)
        #expect(meter.hung == .milliseconds(30) && !meter.isHandled)
    }

    @Test func `a loop at rest does not hang`() {
        #expect(Self.hung((0...50).map { Self.reading($0 * 100, working: false) }) == .zero)
    }

    @Test func `time in which it is stopped or traced does not count`() {
        let readings = (0...10).map { Self.reading($0 * 100, held: (3...7).contains($0)) }
        // From 0 to 200, and from 800 to 1000: an interval with a stop at either end is the stop's.
        #expect(Self.hung(readings) == .milliseconds(400))
        #expect(Self.hung((0...100).map { Self.reading($0 * 100, held: true) }) == .zero)
    }

    @Test func `time spent waiting for a processor does not count`() {
        #expect(Self.hung((0...10).map { Self.reading($0 * 100, waited: Int($0) * 90) }) == .milliseconds(100))
        #expect(Self.hung((0...10).map { Self.reading($0 * 100, waited: Int($0) * 300) }) == .zero)
    }

    @Test func `time in which the thread was not polled counts as one gap`() {
        #expect(
            Self.hung([Self.reading(0), Self.reading(100), Self.reading(60_000), Self.reading(60_100)]) == .milliseconds(400)
        )
    }
}
