internal import Testing

@testable internal import LagRemote

struct SamplingPaceTests {
    private static let millisecond: UInt64 = 1_000_000

    /// The time until samples have found a loop in both halves of its iteration.
    private static func time(untilBothSeenOf turn: UInt64, phase: UInt64, seed: UInt64) -> UInt64 {
        var pace = SamplingPace(seed: seed)
        var (now, seen) = (phase, Set<Bool>())
        while true {
            seen.insert(now % turn < turn / 2)
            if seen.count == 2 { return now - phase }
            now += pace.next()
        }
    }

    @Test func `sampling finds both halves of the iterations of any timer-driven loop`() {
        // With equal gaps between samples, iterations as long as a gap or twice as long would hide one half forever.
        for turn in Array(stride(from: 5000, through: 60_000, by: 370)) + [10_020, 20_000, 20_050, 20_100, 40_000, 40_100] {
            let turn = UInt64(turn) * 1000
            for phase in 0..<10 {
                let time = Self.time(untilBothSeenOf: turn, phase: UInt64(phase) * turn / 10, seed: turn &+ UInt64(phase))
                #expect(time < 1000 * Self.millisecond, "\(turn) \(phase)")
            }
        }
    }

    @Test func `a waiting loop is sampled fifty times a second`() {
        var pace = SamplingPace()
        let gaps = (0..<10_000).map { _ in pace.next() }
        #expect(gaps.allSatisfy { (15 * Self.millisecond..<25 * Self.millisecond).contains($0) })
        let mean = gaps.reduce(0, +) / UInt64(gaps.count)
        #expect((19_800_000...20_200_000).contains(mean), "\(mean)")
    }
}
