import Foundation
import LagModel
import Testing

@testable import LagReader

struct GroupTests {
    private func grouped(_ lines: [String], by key: GroupKey = .fingerprint, times: Range<Int64> = .min ..< .max)
        -> StallGrouping.Aggregate
    {
        let deduplicator = StallDeduplicator()
        var grouping = StallGrouping(by: key, times: times, deduplicator: deduplicator)
        for line in lines { Array(line.utf8).withUnsafeBytes { grouping.take($0) } }
        grouping.takeOpenLines()
        return grouping.finish()
    }

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

    @Test func `long texts are cut at a character boundary`() {
        let culprit = String(repeating: "x", count: 510) + "ö€€"
        let group = grouped([Samples.line(culprit: culprit)], by: .culprit).table.groups[0]
        #expect(String(validating: group.key, as: UTF8.self) == String(repeating: "x", count: 510) + "ö")
        #expect(group.culprit.text == group.key)
        let odd = grouped([Samples.line(culprit: "x" + culprit)], by: .loop).table.groups[0]
        #expect(String(validating: odd.culprit.text, as: UTF8.self) == String(repeating: "x", count: 511))
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

    @Test func `the oldest IDs are forgotten, but not too early`() {
        var set = HashGenerations(capacity: 1000)
        for hash in UInt64(1)...5000 {
            let isNew = set.insert(hash)
            #expect(isNew)
        }
        for hash in UInt64(4001)...5000 { #expect(set.contains(hash)) }
        #expect(!set.contains(2999))
        let first = set.insert(0)
        let second = set.insert(0)
        #expect(first && !second)
    }

    @Test(arguments: GroupKey.allCases)
    func `stalls are grouped by the key`(key: GroupKey) {
        let lines = [
            Samples.line(id: Samples.id(1)), Samples.line(id: Samples.id(2), milliseconds: "100.0"),
            Samples.line(
                id: Samples.id(3),
                fingerprint: "v1:0000000000000000",
                host: "web-2",
                cause: "cpu",
                culprit: "App.compute"
            ),
        ]
        let table = grouped(lines, by: key).table
        let expected: [GroupKey: [String]] = [
            .fingerprint: ["v1:6648237ade8e460d", "v1:0000000000000000"], .culprit: ["App.acquire", "App.compute"],
            .cause: ["lock", "cpu"], .loop: ["main"], .host: ["web-1", "web-2"],
            .process: ["server"], .service: [""], .target: [""],
            .incident: [Samples.id(1), Samples.id(2), Samples.id(3)], .request: [""],
        ]
        #expect(table.groups.map { String(decoding: $0.key, as: UTF8.self) } == expected[key])
        #expect(table.groups.reduce(0) { $0 + $1.count } == 3)
    }

    @Test func `stalls are grouped by a label`() {
        func line(_ number: Int, _ labels: String) -> String {
            Samples.line(id: Samples.id(number)).replacing(#""seq":4"#, with: #""labels":\#(labels),"seq":4"#)
        }
        let lines = [
            line(1, #"{"team":"shop"}"#), line(2, #"{"stage":"prod","team":"sh\u006fp"}"#), line(3, #"{"team":"search"}"#),
            line(4, #"{"stage":"prod"}"#), line(5, #"{"team":7}"#), Samples.line(id: Samples.id(6)),
        ]
        let table = grouped(lines, by: .label("team")).table
        #expect(table.groups.map { String(decoding: $0.key, as: UTF8.self) } == ["shop", "search", ""])
        #expect(table.groups.map(\.count) == [2, 1, 3])
    }

    @Test func `a group key is parsed from its name`() {
        for key in GroupKey.allCases + [.label("team")] { #expect(GroupKey(rawValue: key.rawValue) == key) }
        for name in ["", "label", "label:", "label:a b", "labels:team"] { #expect(GroupKey(rawValue: name) == nil) }
    }

    @Test func `grouping by target groups by service`() {
        let lines = ["cache", "shop", "cache"].enumerated().map { number, name in
            Samples.line(id: Samples.id(number)).replacing(#""loop":"main""#, with: #""loop":"main","service_name":"\#(name)""#)
        }
        let table = grouped(lines, by: .target).table
        #expect(table.groups.map { String(decoding: $0.key, as: UTF8.self) } == ["cache", "shop"])
        #expect(table.groups.map { String(decoding: $0.service.text, as: UTF8.self) } == ["cache", "shop"])
    }

    @Test func `a group records whether its stalls are from several processes`() {
        let one = Samples.line(id: Samples.id(1), time: "2026-11-21T18:07:57Z")
        let other = Samples.line(id: Samples.id(2)).replacing(#""process_name":"server""#, with: #""process_name":"worker""#)
        for lines in [[one, other], [other, one]] {
            let process = grouped(lines).table.groups[0].process
            #expect(String(decoding: process.text, as: UTF8.self) == "server" && process.hasOthers)
            var parts = grouped([lines[0]]).table
            #expect(!parts.groups[0].process.hasOthers)
            parts.add(grouped([lines[1]]).table)
            #expect(parts.groups[0].process.text == process.text && parts.groups[0].process.hasOthers)
        }
    }

    @Test(arguments: [
        (StallFilter([.processName: ["serv*"]]), [2, 0] as [UInt64]), (StallFilter([.processName: ["serve", "x"]]), [0, 2]),
        (StallFilter([.processName: ["server"], .hostName: ["web-2"]]), [1, 1]), (StallFilter([.serviceName: ["*"]]), [0, 2]),
        (StallFilter([.hostName: []]), [2, 0]), (StallFilter(labels: .none), [2, 0]),
        (StallFilter(labels: RecordLabels(claimed: ["team": "shop"])), [2, 0]),
        (StallFilter(labels: RecordLabels(claimed: ["team": "shop", "stage": "prod"])), [1, 1]),
        (StallFilter([.hostName: ["web-2"]], labels: RecordLabels(claimed: ["stage": "prod"])), [0, 2]),
        (StallFilter(labels: RecordLabels(claimed: ["team": "sho*"])), [0, 2]),
    ])
    func `a filter excludes stalls that do not match`(filter: StallFilter, expected: [UInt64]) {
        var grouping = StallGrouping(by: .fingerprint, filter: filter, deduplicator: StallDeduplicator())
        // The second stall is open.
        let lines = [
            Samples.line(id: Samples.id(1)).replacing(#""seq":4"#, with: #""labels":{"stage":"prod","team":"shop"},"seq":4"#),
            Samples.line(id: Samples.id(2), phase: "begin", host: "web-2")
                .replacing(#""seq":4"#, with: #""labels":{"team":"shop"},"seq":4"#),
        ]
        for line in lines {
            Array(line.utf8).withUnsafeBytes { grouping.take($0) }
        }
        grouping.takeOpenLines()
        let aggregate = grouping.finish()
        #expect([aggregate.table.groups.reduce(0) { $0 + $1.count }, aggregate.tally.outside] == expected)
    }

    @Test func `no quantile exceeds the maximum`() {
        for milliseconds in stride(from: 150.003, to: 60_000, by: 611.7) {
            let group = grouped([Samples.line(milliseconds: "\(milliseconds)")]).table.groups[0]
            for share in [0.5, 0.99, 1] { #expect(group.nanoseconds(atShare: share) <= group.worstNanoseconds) }
        }
    }

    /// The first stall of an incident may not name it.
    @Test func `an incident contains all its stalls`() {
        let shared = #""incident":"\#(Samples.id(1))","seq":4"#
        let lines =
            [Samples.line(id: Samples.id(1))]
            + (2...4).map { Samples.line(id: Samples.id($0)).replacing(#""seq":4"#, with: shared) }
        let table = grouped(lines, by: .incident).table
        #expect(table.groups.map { String(decoding: $0.key, as: UTF8.self) } == [Samples.id(1)])
        #expect(table.groups.first?.count == 4)
    }

    @Test func `merged parts equal the whole`() {
        let lines = (0..<2000).map { number in
            Samples.line(
                id: Samples.id(number),
                milliseconds: "\(150 + number * 7 % 5000).25",
                fingerprint: "v1:\(number % 7)",
                host: "web-\(number % 90)",
                cause: StallGroup.causes[number % 3],
                culprit: "f\(number % 5)",
                time: "2026-11-21T18:07:\(10 + number % 50).000000000Z"
            )
        }
        let whole = grouped(lines).table
        var parts = GroupTable()
        for start in stride(from: 0, to: lines.count, by: 300).reversed() {
            parts.add(grouped(Array(lines[start..<min(lines.count, start + 300)].reversed())).table)
        }
        let order = { (table: GroupTable) in table.groups.sorted { $0.key.lexicographicallyPrecedes($1.key) } }
        for (one, other) in zip(order(whole), order(parts)) {
            #expect(one.key == other.key)
            #expect(one.count == other.count)
            #expect(one.totalNanoseconds == other.totalNanoseconds)
            #expect(one.worstNanoseconds == other.worstNanoseconds)
            #expect(one.hosts.count == other.hosts.count)
            #expect(one.causes == other.causes)
            #expect(one.lastTime == other.lastTime)
            #expect(one.culprit.text == other.culprit.text)
            for share in [0.1, 0.5, 0.99] { #expect(one.nanoseconds(atShare: share) == other.nanoseconds(atShare: share)) }
        }
        #expect(whole.groups.count == 7)
    }

    @Test func `percentiles are within the stated error`() {
        var histogram = DurationHistogram()
        var values = (0..<5000).map { UInt64($0) * UInt64($0) * 3000 + 50_000_000 }
        values += [1000, 255_000, 256_000, 1 << 62]
        for value in values.shuffled() { histogram.add(nanoseconds: value) }
        values.sort()
        for share in [0.0002, 0.001, 0.25, 0.5, 0.9, 0.99, 0.9999] {
            let exact = Double(values[Int((share * Double(values.count)).rounded(.up)) - 1])
            let reported = Double(histogram.nanoseconds(atShare: share))
            #expect(abs(reported - exact) <= exact * DurationHistogram.relativeError + 1000, "\(share): \(reported) of \(exact)")
        }
    }

    @Test(arguments: [(3, 0.0), (64, 0.0), (65, 0.15), (400, 0.15), (20_000, 0.15)])
    func `the distinct count is within its error`(number: Int, error: Double) {
        var one = DistinctCount()
        var other = DistinctCount()
        for round in 0..<2 {
            for index in 0..<number {
                let hash = Array("host-\(index)".utf8).withUnsafeBufferPointer { ByteHash.fixed($0) }
                if (index + round) % 2 == 0 { one.add(hash) } else { other.add(hash) }
            }
        }
        one.add(other)
        #expect(abs(Double(one.count - number)) <= Double(number) * error)
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

    @Test func `the time range selects stalls`() {
        let time = UTCTime.nanoseconds("2026-11-21T18:07:56.654466405Z") ?? 0
        #expect(grouped([Samples.end], times: time..<time + 1).table.groups.count == 1)
        #expect(grouped([Samples.end], times: time + 1..<Int64.max).table.groups.count == 0)
        #expect(grouped([Samples.end], times: Int64.min..<time).table.groups.count == 0)
    }

    @Test func `the number of groups is limited`() {
        var table = GroupTable()
        for number in 0..<GroupTable.maximumGroups + 10 {
            _ = Array("\(number)".utf8).withUnsafeBufferPointer {
                table.update($0) { $0.addHeldBack(count: 1, nanoseconds: 1, lastTime: nil) }
            }
        }
        #expect(table.groups.count == GroupTable.maximumGroups)
        #expect(table.rest.heldBackCount == 10)
    }

    @Test func `several reader threads give the result of one`() throws {
        try Folder.with { folder in
            let lines = (0..<30_000).map { Samples.line(id: Samples.id($0 / 2), fingerprint: "v1:\($0 / 2 % 50)", culprit: "f") }
            let path = folder.appending(path: "lines").path
            try (lines.joined(separator: "\n") + "\n{\"cut\":").write(toFile: path, atomically: true, encoding: .utf8)
            let deduplicator = StallDeduplicator()
            let result = ParallelLineReader([try InputFile(path)], workers: 4).run {
                StallGrouping(by: .fingerprint, deduplicator: deduplicator)
            }
            var sum = StallGrouping.Aggregate()
            for part in result.aggregates { sum.add(part) }
            #expect(result.inputErrors.isEmpty)
            #expect(result.aggregates.count > 1)
            #expect(sum.table.groups.count == 50)
            #expect(sum.table.groups.allSatisfy { $0.count == 300 })
            #expect(sum.tally.lines == 30_001)
            #expect(sum.tally.damaged == 1)
            #expect(sum.tally.repeated == 15_000)
        }
    }
}
