import Foundation
import LagModel
import Testing

@testable import LagReader

/// Into which group a stall comes, if into any.
struct GroupKeyTests {
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

    @Test func `the time range selects stalls`() {
        let time = UTCTime.nanoseconds("2026-11-21T18:07:56.654466405Z") ?? 0
        #expect(grouped([Samples.end], times: time..<time + 1).table.groups.count == 1)
        #expect(grouped([Samples.end], times: time + 1..<Int64.max).table.groups.count == 0)
        #expect(grouped([Samples.end], times: Int64.min..<time).table.groups.count == 0)
    }
}
