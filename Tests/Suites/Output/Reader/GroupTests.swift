import Foundation
import LagModel
import Testing

@testable import LagReader

/// Which lines count, and as how many stalls.
struct GroupTests {
    @Test func `a stall counts once in any order of its lines`() {
        for lines in [
            [Samples.begin, Samples.end, Samples.end], [Samples.end, Samples.begin],
            [Samples.end, Samples.begin, Samples.end, Samples.begin],
        ] {
            let table = grouped(lines).table
            #expect(table.groups.count == 1)
            #expect(table.groups[0].count == 1)
            #expect(table.groups[0].openCount == 0)
            #expect(table.groups[0].totalNanoseconds == 7_123_456_000)
        }
    }

    @Test func `a stall without an end counts as open`() {
        let group = grouped([Samples.begin, Samples.begin]).table.groups[0]
        #expect(group.count == 1)
        #expect(group.openCount == 1)
        #expect(group.totalNanoseconds == 5_000_000_000)
    }

    @Test func `open stalls beyond the limit of kept lines are counted`() {
        let count = StallDeduplicator.maximumOpenLines * 2
        let begins = (0..<count).map { Samples.line(id: Samples.id($0), phase: "begin") }
        #expect(grouped(begins).table.groups[0].count == UInt64(count))
        let ends = (0..<count).map { Samples.line(id: Samples.id($0)) }
        #expect(grouped(begins + ends).table.groups[0].count == UInt64(count))
    }

    /// The limit is independent of the distribution of IDs.
    @Test func `the documented number of begin lines is kept before one counts immediately`() {
        let deduplicator = StallDeduplicator()
        let line = Array("{}".utf8)
        func admit(_ hash: Int, isBegin: Bool = true) -> StallDeduplicator.Decision {
            line.withUnsafeBytes { deduplicator.admit(UInt64(hash), isBegin: isBegin, line: $0) }
        }
        let most = StallDeduplicator.maximumOpenLines
        #expect((1...most).allSatisfy { admit($0) == .ignore })
        #expect(admit(most + 1) == .count && deduplicator.openLines().count == most)
        // An end frees space.
        #expect(admit(1, isBegin: false) == .count)
        #expect(admit(most + 2) == .ignore && deduplicator.openLines().count == most)
    }

    @Test func `a time window does not separate the lines of a stall`() {
        let early = Samples.line(phase: "begin", milliseconds: "5000.000", time: "2026-11-21T17:59:59.999Z")
        let late = Samples.line(milliseconds: "7000.000", time: "2026-11-21T18:00:00.001Z")
        let edge = UTCTime.nanoseconds("2026-11-21T18:00:00Z") ?? 0
        for lines in [[early, late], [late, early]] {
            let after = grouped(lines, times: edge ..< .max).table.groups
            #expect(after.map(\.count) == [1])
            #expect(after.map(\.openCount) == [0])
            #expect(grouped(lines, times: .min..<edge).table.groups.isEmpty)
        }
        #expect(grouped([early], times: edge ..< .max).table.groups.isEmpty)
    }

    @Test func `the size of kept begin lines is limited`() {
        let culprit = String(repeating: "x", count: 1 << 19)
        let begins = (0..<80).map { Samples.line(id: Samples.id($0), phase: "begin", culprit: culprit) }
        let deduplicator = StallDeduplicator()
        var grouping = StallGrouping(by: .loop, deduplicator: deduplicator)
        for line in begins { Array(line.utf8).withUnsafeBytes { grouping.take($0) } }
        #expect(deduplicator.openLines().reduce(0) { $0 + $1.count } <= StallDeduplicator.maximumOpenBytes)
        grouping.takeOpenLines()
        #expect(grouping.finish().table.groups.map(\.count) == [80])
    }

    @Test func `a suppression notice does not hide the fingerprint of a group`() {
        let held =
            #"{"schema":"lagmonitor.stall.v1","time":"2026-11-21T19:00:00Z","event":"suppressed","suppressed":7,"#
            + #""last_time":"2026-11-21T19:00:00Z","total_ms":900.000,"culprit":"App.acquire"}"#
        for lines in [[held, Samples.line()], [Samples.line(), held]] {
            let group = grouped(lines, by: .culprit).table.groups[0]
            #expect(group.heldBackCount == 7)
            #expect(String(decoding: group.fingerprint.text, as: UTF8.self) == "v1:6648237ade8e460d")
            var other = grouped([held], by: .culprit).table
            other.add(grouped([Samples.line()], by: .culprit).table)
            #expect(other.groups[0].fingerprint.text == group.fingerprint.text)
        }
    }

    @Test func `suppressed stalls are counted separately`() {
        let notice =
            #"{"schema":"lagmonitor.stall.v1","time":"2026-11-21T18:07:56.654466405Z","event":"suppressed","#
            + #""fingerprint":"v1:6648237ade8e460d","suppressed":7,"first_time":"2026-11-21T18:07:56.0Z","#
            + #""last_time":"2026-11-21T18:08:56.0Z","longest_ms":500.0,"total_ms":2100.0,"mono_us":5,"host_name":"h","pid":1}"#
        let group = grouped([Samples.end, notice, notice]).table.groups[0]
        #expect(group.count == 1)
        #expect(group.heldBackCount == 7)
        #expect(group.heldBackNanoseconds == 2_100_000_000)
        #expect(group.weight == 9_223_456_000)
    }
}
