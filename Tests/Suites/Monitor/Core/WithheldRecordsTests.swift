internal import LagActivity
import LagMonitorTestKit
import Synchronization
import Testing

@testable import LagMonitor

/// Records that wait until their loop is confirmed to be one.
@Suite struct WithheldRecordsTests {
    private final class Candidate: CandidateLoop {
        let beacon = ActivityBeacon()
        let thread = ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0)
        let name = "candidate"
        private let confirmed = Atomic(false)
        private let reported = Atomic(0)

        var isConfirmed: Bool { confirmed.load(ordering: .acquiring) }
        func confirm() { confirmed.store(true, ordering: .releasing) }

        var reports: Int { reported.load(ordering: .relaxed) }
        func recordReport() { reported.add(1, ordering: .relaxed) }
    }

    private let core = MonitorCore(configuration: StallMonitorConfiguration(), sinks: [])

    private func record(_ number: UInt64) -> StallRecord {
        var record = StallRecord.sample(loop: "candidate", number: number)
        record.startMonotonicNanoseconds = number
        return record
    }

    private func add(_ numbers: ClosedRange<UInt64>, of loop: Candidate, watch: Int, to withheld: inout WithheldRecords) {
        for number in numbers { withheld.add(record(number), of: loop, watch: watch, for: core, lastWork: 0) }
    }

    private func take(_ withheld: inout WithheldRecords) -> [UInt64] {
        withheld.takeConfirmed().map(\.record.startMonotonicNanoseconds)
    }

    @Test func `withheld records are delivered once, in order, after their loop is confirmed`() {
        var withheld = WithheldRecords()
        let (loop, other) = (Candidate(), Candidate())
        add(1...2, of: loop, watch: 1, to: &withheld)
        add(3...3, of: other, watch: 2, to: &withheld)
        add(4...4, of: loop, watch: 1, to: &withheld)
        #expect(take(&withheld).isEmpty && loop.reports == 0)
        loop.confirm()
        #expect(take(&withheld) == [1, 2, 4])
        #expect(take(&withheld).isEmpty && loop.reports == 3 && other.reports == 0)
        other.confirm()
        #expect(take(&withheld) == [3])
    }

    @Test func `a stall whose beginning was reported is known until its end`() {
        var withheld = WithheldRecords()
        let loop = Candidate()
        let end = record(1)
        var begin = end
        begin.phase = .begin
        withheld.add(begin, of: loop, watch: 1, for: core, lastWork: 0)
        #expect(!withheld.isBegun(begin.id, watch: 1))
        loop.confirm()
        let taken = take(&withheld)
        #expect(taken == [1] && withheld.isBegun(begin.id, watch: 1) && !withheld.isBegun(begin.id, watch: 2))
        withheld.recordReport(of: end, watch: 1)
        #expect(!withheld.isBegun(begin.id, watch: 1))
        withheld.recordReport(of: begin, watch: 1)
        withheld.forget([1])
        #expect(!withheld.isBegun(begin.id, watch: 1))
    }

    @Test func `withheld records of an ended watch are discarded`() {
        var withheld = WithheldRecords()
        let (loop, other) = (Candidate(), Candidate())
        add(1...1, of: loop, watch: 1, to: &withheld)
        add(2...2, of: other, watch: 2, to: &withheld)
        withheld.forget([1])
        for candidate in [loop, other] { candidate.confirm() }
        #expect(take(&withheld) == [2])
    }

    @Test func `the first of many withheld records are kept`() {
        var withheld = WithheldRecords()
        let loop = Candidate()
        add(1...20, of: loop, watch: 1, to: &withheld)
        loop.confirm()
        #expect(take(&withheld) == Array(1...16))
        // After delivery, there is room again.
        add(21...21, of: loop, watch: 1, to: &withheld)
        #expect(take(&withheld) == [21])
    }

    @Test func `adding a record beyond the capacity reports that it is not kept`() {
        var withheld = WithheldRecords()
        let loop = Candidate()
        let kept = (1...17).map { withheld.add(record($0), of: loop, watch: 1, for: core, lastWork: 0) }
        #expect(kept == Array(repeating: true, count: 16) + [false])
    }
}
