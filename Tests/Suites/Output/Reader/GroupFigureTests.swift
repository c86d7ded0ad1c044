import Foundation
import LagModel
import TestSupport
import Testing

@testable import LagReader

/// The figures of a group, and the limits of its memory.
struct GroupFigureTests {
    @Test func `long texts are cut at a character boundary`() {
        let culprit = String(repeating: "x", count: 510) + "ö€€"
        let group = grouped([Samples.line(culprit: culprit)], by: .culprit).table.groups[0]
        #expect(String(validating: group.key, as: UTF8.self) == String(repeating: "x", count: 510) + "ö")
        #expect(group.culprit.text == group.key)
        let odd = grouped([Samples.line(culprit: "x" + culprit)], by: .loop).table.groups[0]
        #expect(String(validating: odd.culprit.text, as: UTF8.self) == String(repeating: "x", count: 511))
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

    @Test func `no quantile exceeds the maximum`() {
        for milliseconds in stride(from: 150.003, to: 60_000, by: 611.7) {
            let group = grouped([Samples.line(milliseconds: "\(milliseconds)")]).table.groups[0]
            for share in [0.5, 0.99, 1] { #expect(group.nanoseconds(atShare: share) <= group.worstNanoseconds) }
        }
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
        try ScratchDirectory.with { scratch in
            let lines = (0..<30_000).map { Samples.line(id: Samples.id($0 / 2), fingerprint: "v1:\($0 / 2 % 50)", culprit: "f") }
            let path = scratch.file("lines")
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
