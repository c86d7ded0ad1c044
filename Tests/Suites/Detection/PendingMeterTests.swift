internal import LagActivity
import Testing

@testable import LagDetection

struct PendingMeterTests {
    private static func meter(_ polls: [(UInt64, Bool?)], word: UInt64 = 6) -> PendingMeter {
        var meter = PendingMeter()
        for (time, pending) in polls { meter.record(pending.map { $0 ? .pending : .none } ?? .unknown, word: word, at: time) }
        return meter
    }

    @Test func `pending time counts from the first poll that found work to the last`() {
        let meter = Self.meter([(50, false), (100, true), (150, true), (300, true)])
        #expect(meter.isPending == true && meter.nanoseconds == 200)
    }

    @Test func `a single poll proves no pending time`() {
        #expect(Self.meter([(50, true)]).isPending == true && Self.meter([(50, true)]).nanoseconds == 0)
    }

    @Test func `pending time restarts after the work was fetched`() {
        #expect(Self.meter([(0, true), (100, true), (150, false), (200, true), (250, true)]).nanoseconds == 100)
        #expect(Self.meter([(0, true), (100, true), (150, nil), (200, true), (250, true)]).nanoseconds == 100)
    }

    @Test func `without a result it is unknown whether work was pending`() {
        #expect(Self.meter([]).isPending == nil && Self.meter([(0, nil), (100, nil)]).isPending == nil)
        #expect(Self.meter([(0, false), (100, nil)]).isPending == nil)
        #expect(Self.meter([(0, nil), (100, false)]).isPending == false)
        #expect(Self.meter([(0, true), (100, nil)]).isPending == true)
    }

    @Test func `pending time restarts with another stretch of work`() {
        var meter = Self.meter([(0, true), (100, true)])
        meter.record(.none, word: 8, at: 200)
        #expect(meter.isPending == false && meter.nanoseconds == 0)
        #expect(meter.covers(since: 150) && !meter.covers(since: 250))
    }
}
