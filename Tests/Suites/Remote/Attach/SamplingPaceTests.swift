internal import Testing

@testable internal import LagRemote

struct SamplingPaceTests {
    private static let millisecond: UInt64 = 1_000_000

    /// How long it takes until samples have found a loop in either half of its turn.
    private static func time(untilBothSeenOf turn: UInt64, phase: UInt64, seed: UInt64) -> UInt64 {
        var pace = SamplingPace(seed: seed)
        var (now, seen) = (phase, Set<Bool>())
        while true {
            seen.insert(now % turn < turn / 2)
            if seen.count == 2 { return now - phase }
            now += pace.next()
        }
    }

    @Test func `no loop that turns by a timer hides the other half of its turn`() {
        // Those as long as the gaps are on average, and twice as long, would with equal gaps, for good.
        for turn in Array(stride(from: 5000, through: 60_000, by: 370)) + [10_020, 20_000, 20_050, 20_100, 40_000, 40_100] {
            let turn = UInt64(turn) * 1000
            for phase in 0..<10 {
                let time = Self.time(untilBothSeenOf: turn, phase: UInt64(phase) * turn / 10, seed: turn &+ UInt64(phase))
                #expect(time < 1000 * Self.millisecond, "\(turn) \(phase)")
            }
        }
    }

    @Test func `fifty samples a second are made of a loop at rest`() {
        var pace = SamplingPace()
        let gaps = (0..<10_000).map { _ in pace.next() }
        #expect(gaps.allSatisfy { (15 * Self.millisecond..<25 * Self.millisecond).contains($0) })
        let mean = gaps.reduce(0, +) / UInt64(gaps.count)
        #expect((19_800_000...20_200_000).contains(mean), "\(mean)")
    }
}
