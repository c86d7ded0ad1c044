/// The interval between samples of resting loops: 20 ± 5 ms.
///
/// A loop that is driven by a timer does the same at the same time of each iteration. With a fixed rate of the same length, each
/// sample would find it in the same wait for minutes. So the gaps are random: then some ten samples cover an iteration. (Gaps
/// whose sums differ little from a fixed rate, as with a low-discrepancy sequence, would not help.)
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
