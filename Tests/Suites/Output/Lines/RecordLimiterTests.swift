import TestSupport
import Testing

@testable import LagOutput

@Suite struct RecordLimiterTests {
    private static let second: UInt64 = 1_000_000_000

    private func record(
        _ fingerprint: String = "v1:a",
        _ phase: StallRecord.Phase = .end,
        id: UInt64 = 0,
        milliseconds: UInt64 = 200
    ) -> StallRecord {
        var record = Sample.record(frames: 0)
        record.id = StallID(startRealtimeNanoseconds: Sample.start, randomHigh: 0, randomLow: id)
        record.phase = phase
        record.fingerprint = fingerprint
        record.durationNanoseconds = milliseconds * 1_000_000
        return record
    }

    private func limiter(_ burst: UInt64?, all: UInt64? = nil, quiet: UInt64 = 60, capacity: Int = 256) -> RecordLimiter {
        RecordLimiter(
            perFingerprint: burst.map { TokenRate(burst: $0, intervalNanoseconds: 60 * Self.second) },
            overall: all.map { TokenRate(burst: $0, intervalNanoseconds: Self.second) },
            quietNanoseconds: quiet * Self.second,
            capacity: capacity
        )
    }

    private func isEmitted(_ decision: RecordLimiter.Decision) -> Bool { decision != .suppress }

    private func ended(_ decision: RecordLimiter.Decision) -> Suppression? {
        if case .emit(let ended) = decision { ended } else { nil }
    }

    @Test func `a burst is reported and then one stall per interval`() {
        var limiter = limiter(10)
        var reported: [UInt64] = []
        // One per second, from some uptime on.
        for second in 5000..<UInt64(5300) {
            if isEmitted(limiter.decide(record(), at: second * Self.second)) { reported.append(second - 5000) }
        }
        #expect(reported == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 60, 120, 180, 240])
        #expect(limiter.suppressedTotal == 286)
    }

    @Test func `each fingerprint has its own bucket`() {
        var limiter = limiter(1)
        #expect(isEmitted(limiter.decide(record("a"), at: 1)))
        #expect(!isEmitted(limiter.decide(record("a"), at: 2)))
        #expect(isEmitted(limiter.decide(record("b"), at: 3)))
    }

    @Test func `the overall limit applies to all fingerprints together`() {
        var limiter = limiter(nil, all: 3)
        let reported = (0..<100).filter { isEmitted(limiter.decide(record("v1:\($0)"), at: 7)) }
        #expect(reported == [0, 1, 2])
        #expect(isEmitted(limiter.decide(record("x"), at: 7 + Self.second)))
        #expect(!isEmitted(limiter.decide(record("y"), at: 7 + Self.second)))
    }

    @Test func `a stall refused by one limit takes no token of the other`() {
        var limiter = limiter(1, all: 2)
        #expect(isEmitted(limiter.decide(record("a"), at: 0)))
        for _ in 0..<50 { #expect(!isEmitted(limiter.decide(record("a"), at: 0))) }
        #expect(isEmitted(limiter.decide(record("b"), at: 0)))
        // Conversely, the token of c is still available when the overall bucket has one again.
        for _ in 0..<50 { #expect(!isEmitted(limiter.decide(record("c"), at: 0))) }
        #expect(isEmitted(limiter.decide(record("c"), at: Self.second)))
    }

    @Test func `without limits everything is reported`() {
        var limiter = limiter(nil)
        for _ in 0..<1000 { #expect(isEmitted(limiter.decide(record(), at: 0))) }
        #expect(limiter.deadline == nil && limiter.fingerprints == 0)
    }

    @Test func `the end of a reported begin is reported`() {
        var limiter = limiter(1)
        #expect(isEmitted(limiter.decide(record("a", .begin, id: 1), at: 0)))
        #expect(!isEmitted(limiter.decide(record("a", .end, id: 2), at: 1)))
        #expect(isEmitted(limiter.decide(record("a", .end, id: 1), at: 2)))
        // Only for that stall.
        #expect(!isEmitted(limiter.decide(record("a", .end, id: 1), at: 3)))
    }

    @Test func `the end of a reported begin does not end a suppression`() {
        var limiter = limiter(1)
        _ = limiter.decide(record("a", .begin, id: 1), at: 0)
        _ = limiter.decide(record("a", .end, id: 2), at: 1)
        #expect(limiter.decide(record("a", .end, id: 1), at: 2) == .emit(after: nil))
        #expect(limiter.takeAll().map(\.count) == [1])
    }

    @Test func `a hang is reported even if its function has used up its limit`() {
        var limiter = limiter(2, all: 3)
        for id in 0..<UInt64(500) { _ = limiter.decide(record("a", id: id), at: 0) }
        for id in 0..<UInt64(50) { _ = limiter.decide(record("v1:\(id)", id: 500 + id), at: 0) }
        let hang = limiter.decide(record("a", .begin, id: 1000), at: 1)
        #expect(ended(hang)?.count == 498, "after the summary of those suppressed before")
        #expect(isEmitted(limiter.decide(record("a", .end, id: 1000, milliseconds: 20_000), at: 20)))
        // So is the next hang, also of the same function.
        #expect(isEmitted(limiter.decide(record("a", .begin, id: 1001), at: 21)))
        #expect(!isEmitted(limiter.decide(record("a", .end, id: 1002), at: 22)))
    }

    @Test func `a flood of hangs is limited`() {
        var limiter = limiter(1, all: 20)
        let reported = (0..<UInt64(1000)).count { isEmitted(limiter.decide(record("v1:\($0)", .begin, id: $0), at: 0)) }
        #expect(reported == 40, "the tokens of the overall bucket, and as many for hangs")
    }

    @Test func `the end of a suppressed begin is decided again`() {
        var limiter = limiter(1, all: 1)
        _ = limiter.decide(record("a", .end, id: 1), at: 0)
        _ = limiter.decide(record("b", .begin, id: 9), at: 0)
        #expect(!isEmitted(limiter.decide(record("a", .begin, id: 2, milliseconds: 5000), at: 1)))
        #expect(limiter.suppressedTotal == 0 && limiter.deadline == nil, "its outcome is not known yet")
        #expect(!isEmitted(limiter.decide(record("a", .end, id: 2, milliseconds: 8000), at: 2)))
        #expect(!isEmitted(limiter.decide(record("a", .begin, id: 3, milliseconds: 5000), at: 3)))
        let decision = limiter.decide(record("a", .end, id: 3, milliseconds: 90_000), at: 61 * Self.second)
        let summary = ended(decision)
        #expect(isEmitted(decision))
        // The second stall is counted once; the third has its own line.
        #expect(summary?.count == 1 && limiter.suppressedTotal == 1)
        #expect(summary?.totalNanoseconds == 8_000_000_000 && summary?.longestNanoseconds == 8_000_000_000)
    }

    @Test func `an abandoned stall is always reported`() {
        var limiter = limiter(1)
        _ = limiter.decide(record("a", .end, id: 1), at: 0)
        _ = limiter.decide(record("a", .begin, id: 2), at: 0)
        for id in 2..<UInt64(50) { #expect(isEmitted(limiter.decide(record("a", .abandoned, id: id), at: 0))) }
    }

    @Test func `the summary is written before the next reported stall`() throws {
        var limiter = limiter(1)
        _ = limiter.decide(record(), at: 0)
        var first = record(milliseconds: 900)
        first.startRealtimeNanoseconds += 5
        var last = record(milliseconds: 300)
        last.startRealtimeNanoseconds += 9
        last.culprit = "Shop.render"
        last.message = "the last one"
        _ = limiter.decide(first, at: 10)
        _ = limiter.decide(last, at: 20)
        let decision = limiter.decide(record(), at: 60 * Self.second)
        let summary = try #require(ended(decision))
        #expect(summary.fingerprint == "v1:a" && summary.fingerprints == 1 && summary.count == 2)
        #expect(summary.firstRealtimeNanoseconds == Sample.start + 5 && summary.lastRealtimeNanoseconds == Sample.start + 9)
        #expect(summary.longestNanoseconds == 900_000_000 && summary.totalNanoseconds == 1_200_000_000)
        #expect(summary.culprit == "Shop.render" && summary.message == "the last one")
        #expect(limiter.deadline == nil && limiter.takeAll().isEmpty)
        #expect(limiter.suppressedTotal == 2, "it never decreases")
    }

    @Test func `a summary is due after the quiet time`() {
        var limiter = limiter(1, quiet: 5)
        #expect(limiter.deadline == nil)
        for time in 0..<UInt64(4) { _ = limiter.decide(record(), at: time * Self.second) }
        #expect(limiter.deadline == 8 * Self.second)
        #expect(limiter.takeDue(at: 8 * Self.second - 1) == nil)
        #expect(limiter.takeDue(at: 8 * Self.second)?.count == 3)
        #expect(limiter.takeDue(at: .max) == nil && limiter.deadline == nil)
    }

    @Test func `summaries of a flood wait for tokens`() {
        var limiter = limiter(nil, all: 10, quiet: 1)
        for number in 0..<100 { _ = limiter.decide(record("v1:\(number)"), at: 0) }
        var reported = 0
        var second: UInt64 = 0
        while let deadline = limiter.deadline {
            #expect(deadline > second * Self.second)
            second = (deadline + Self.second - 1) / Self.second
            while limiter.takeDue(at: second * Self.second) != nil { reported += 1 }
            #expect(reported <= 10 + second)
        }
        #expect(reported == 90)
    }

    @Test func `an evicted fingerprint loses no count`() {
        var limiter = limiter(1, all: nil, quiet: 30, capacity: 4)
        for number in 0..<10 {
            for _ in 0..<3 { _ = limiter.decide(record("v1:\(number)"), at: UInt64(number)) }
        }
        #expect(limiter.fingerprints == 4)
        #expect(limiter.suppressedTotal == 20)
        let others = limiter.takeDue(at: 4 + 30 * Self.second)
        #expect(others?.fingerprint == nil && others?.fingerprints == 6 && others?.count == 12)
        #expect(limiter.takeDue(at: 4 + 30 * Self.second) == nil)
        #expect(limiter.takeAll().map(\.fingerprint) == ["v1:6", "v1:7", "v1:8", "v1:9"])
    }

    @Test func `the least recently seen fingerprint is evicted`() {
        var limiter = limiter(1, capacity: 2)
        for name in ["a", "b", "a", "c"] { _ = limiter.decide(record(name), at: 0) }
        #expect(!isEmitted(limiter.decide(record("a"), at: 1)), "b was evicted")
        #expect(isEmitted(limiter.decide(record("b"), at: 1)))
    }

    @Test func `the oldest hangs without an end are forgotten`() {
        var limiter = limiter(10_000)
        for id in 0..<UInt64(1000) { _ = limiter.decide(record("a", .begin, id: id), at: 0) }
        for _ in 0..<10_000 { _ = limiter.decide(record("a"), at: 0) }
        #expect(!isEmitted(limiter.decide(record("a", .end, id: 0), at: 0)))
        #expect(isEmitted(limiter.decide(record("a", .end, id: 999), at: 0)))
    }

    @Test func `the length of kept texts is bounded`() throws {
        var limiter = limiter(1)
        var long = record()
        // A character of two bytes lies across the cut.
        long.message = "x" + String(repeating: "é", count: 5000)
        for _ in 0..<2 { _ = limiter.decide(long, at: 0) }
        let message = try #require(limiter.takeAll().first?.message)
        #expect(message == "x" + String(repeating: "é", count: 255))
    }

    @Test func `times at the maximum of the clock cause no overflow`() {
        let rate = TokenRate(burst: .max, intervalNanoseconds: .max)
        var limiter = RecordLimiter(perFingerprint: rate, overall: rate, quietNanoseconds: .max)
        for _ in 0..<3 { _ = limiter.decide(record(milliseconds: 1 << 44), at: .max) }
        var tight = RecordLimiter(
            perFingerprint: TokenRate(burst: 1, intervalNanoseconds: .max),
            overall: nil,
            quietNanoseconds: .max
        )
        for _ in 0..<3 { _ = tight.decide(record(milliseconds: 1 << 44), at: .max - 1) }
        #expect(tight.suppressedTotal == 2 && tight.deadline == .max)
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `the limiter decides like a simple model`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let own =
            Bool.random(using: &random)
            ? TokenRate(burst: .random(in: 1...12, using: &random), intervalNanoseconds: .random(in: 1...5000, using: &random))
            : nil
        let all =
            Bool.random(using: &random)
            ? TokenRate(burst: .random(in: 1...30, using: &random), intervalNanoseconds: .random(in: 1...900, using: &random))
            : nil
        let quiet = UInt64.random(in: 1...9000, using: &random)
        var limiter = RecordLimiter(perFingerprint: own, overall: all, quietNanoseconds: quiet)
        var naive = NaiveLimiter(perFingerprint: own, overall: all, quiet: quiet)
        var now: UInt64 = 1_000_000
        var hangs: [StallRecord] = []
        var (reported, held, begun, summed, total): (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)
        let steps = 3000
        for step in 0..<steps {
            now += Bool.random(using: &random) ? 0 : .random(in: 0...1500, using: &random)
            var next = record("v1:\(Int.random(in: 0..<20, using: &random))", id: UInt64(step))
            next.durationNanoseconds = .random(in: 1...1_000_000, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                next.phase = .begin
                if hangs.count < 60 { hangs.append(next) }
            case 1, 2:
                if let index = hangs.indices.randomElement(using: &random) {
                    next = hangs.remove(at: index)
                    next.phase = Bool.random(using: &random) ? .end : .abandoned
                    next.durationNanoseconds += 5
                }
            default: break
            }
            let (isEmittedByModel, endedByModel) = naive.decide(next, at: now)
            let decision = limiter.decide(next, at: now)
            #expect(isEmitted(decision) == isEmittedByModel, "seed \(seed) step \(step)")
            let ended = ended(decision)
            #expect(ended?.count == endedByModel?.count && ended?.totalNanoseconds == endedByModel?.total)
            #expect(ended?.longestNanoseconds == endedByModel?.longest)
            if isEmittedByModel { reported += 1 } else if next.phase != .begin { held += 1 } else { begun += 1 }
            summed += ended?.count ?? 0
            #expect(limiter.suppressedTotal == held)
            guard step % 7 == 0 else { continue }
            var due: [Suppression] = []
            while let one = limiter.takeDue(at: now) { due.append(one) }
            #expect(due.compactMap(\.fingerprint) == naive.takeDue(at: now), "seed \(seed) step \(step)")
            #expect(limiter.deadline.map { $0 > now } ?? true)
            summed += due.reduce(0) { $0 + $1.count }
            total += UInt64(due.count)
        }
        #expect(reported + held + begun == UInt64(steps))
        #expect(summed + limiter.takeAll().reduce(0) { $0 + $1.count } == held, "each suppressed stall is summed up once")
        #expect(limiter.deadline == nil)
    }
}
