/// The time from one sample of loops at rest to the next: 20 ms, give or take 5.
///
/// A loop that turns by a timer does the same at the same time of each turn. Were it sampled at a fixed rate, and its turns as long, each sample would
/// find it in the same one of its waits for minutes. So the gaps differ, at random: as many samples as it takes to get around a turn are then
/// some ten. (Gaps whose sums differ little from a fixed rate's, as those of a low-discrepancy sequence, would not do.)
struct SamplingPace: Sendable {
    private var state: UInt64

    static let shortestNanoseconds: UInt64 = 15_000_000
    static let spreadNanoseconds: UInt64 = 10_000_000
    static let longestNanoseconds = shortestNanoseconds + spreadNanoseconds

    init(seed: UInt64 = 0) { state = seed }

    /// Knuth's linear congruential generator; its upper bits are random enough.
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Self.shortestNanoseconds + ((state >> 32) * Self.spreadNanoseconds) >> 32
    }
}
