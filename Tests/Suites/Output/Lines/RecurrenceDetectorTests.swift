import TestSupport
import Testing

@testable import LagOutput

@Suite struct RecurrenceDetectorTests {
    private static let second: UInt64 = 1_000_000_000

    private func record(_ fingerprint: String = "v1:a", _ phase: StallRecord.Phase = .end) -> StallRecord {
        var record = Sample.record(frames: 0)
        record.fingerprint = fingerprint
        record.phase = phase
        return record
    }

    private func reported(_ seconds: [UInt64], count: Int = 3) -> [UInt64] {
        var watch = RecurrenceDetector(count: count, windowNanoseconds: 600 * Self.second)
        return seconds.filter { watch.observe(record(), at: $0 * Self.second) != nil }
    }

    @Test func `the third stall within the window is reported`() {
        #expect(reported([100, 200, 700]) == [700])
        #expect(reported([100, 200, 701]) == [])
        #expect(reported([100, 200, 750, 800]) == [800])
    }

    @Test func `a recurrence is reported once per window`() {
        #expect(reported(Array(stride(from: 0, to: 2000, by: 10))) == [20, 620, 1220, 1820])
    }

    @Test func `after a quiet window the full count is needed again`() {
        #expect(reported([1, 2, 3, 5000, 5001, 5002]) == [3, 5002])
    }

    @Test func `with a count of one every window reports its first stall`() {
        #expect(reported([1, 2, 601, 602], count: 1) == [1, 601])
    }

    @Test func `the lines of one stall count once`() {
        var watch = RecurrenceDetector(count: 2, windowNanoseconds: .max)
        #expect(watch.observe(record("a", .begin), at: 1) == nil)
        #expect(watch.observe(record("a", .end), at: 2) == nil)
        #expect(watch.observe(record("a", .begin), at: 3) == nil)
        #expect(watch.observe(record("a", .abandoned), at: 4) != nil)
    }

    @Test func `fingerprints are counted separately`() {
        var watch = RecurrenceDetector(count: 2, windowNanoseconds: .max)
        #expect(watch.observe(record("a"), at: 1) == nil)
        #expect(watch.observe(record("b"), at: 2) == nil)
        #expect(watch.observe(record("a"), at: 3)?.fingerprint == "a")
    }

    @Test func `a recurrence has the count, times and message of its stalls`() throws {
        var watch = RecurrenceDetector(count: 3, windowNanoseconds: 50)
        var next = record()
        for time in [0, 100, 120] as [UInt64] {
            next.startRealtimeNanoseconds = Int64(time)
            next.durationNanoseconds = time
            next.message = "at \(time)"
            #expect(watch.observe(next, at: time) == nil)
        }
        next.startRealtimeNanoseconds = 130
        next.durationNanoseconds = 130
        next.message = "at last"
        next.culprit = "Shop.render"
        let reported = watch.observe(next, at: 130)
        let recurrence = try #require(reported)
        #expect(recurrence.count == 3 && recurrence.seenTotal == 4 && recurrence.windowNanoseconds == 50)
        #expect(recurrence.firstRealtimeNanoseconds == 100 && recurrence.lastRealtimeNanoseconds == 130)
        #expect(recurrence.totalNanoseconds == 350)
        #expect(recurrence.culprit == "Shop.render" && recurrence.message == "at last")
    }

    @Test func `the least recently seen fingerprint is evicted`() {
        var watch = RecurrenceDetector(count: 2, windowNanoseconds: .max, capacity: 2)
        for name in ["a", "b", "c"] { _ = watch.observe(record(name), at: 1) }
        #expect(watch.observe(record("b"), at: 2) != nil)
        #expect(watch.observe(record("a"), at: 2) == nil, "it was forgotten")
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `the detector decides like a simple model`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let count = Int.random(in: 1...6, using: &random)
        let window = UInt64.random(in: 1...400, using: &random)
        var watch = RecurrenceDetector(count: count, windowNanoseconds: window)
        var history: [String: [UInt64]] = [:]
        var reportedAt: [String: UInt64] = [:]
        var now: UInt64 = 0
        for _ in 0..<2000 {
            now += .random(in: 0...90, using: &random)
            let name = "v1:\(Int.random(in: 0..<8, using: &random))"
            history[name, default: []].append(now)
            let within = history[name]!.filter { $0 + window >= now }.count
            let isDue = within >= count && reportedAt[name].map { now >= $0 + window } ?? true
            if isDue { reportedAt[name] = now }
            #expect((watch.observe(record(name), at: now) != nil) == isDue)
        }
    }
}
