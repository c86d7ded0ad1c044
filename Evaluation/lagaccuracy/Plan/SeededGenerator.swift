internal import Foundation

/// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers for the same seed on every machine.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// A stream of its own for one purpose under one condition, so that a change to one does not shift the others.
    init(seed: UInt64, condition: Condition, purpose: UInt64) {
        let place = UInt64(Condition.allCases.firstIndex(of: condition) ?? 0)
        // Mixed, not added: states that differ by a multiple of the step are one stream, read from different places.
        var mixer = SeededGenerator(seed: seed)
        mixer = SeededGenerator(seed: mixer.next() ^ (place << 8 | purpose))
        self.init(seed: mixer.next())
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// A length whose logarithm is uniformly distributed: as many between 20 and 40 ms as between 1 and 2 s.
    mutating func logUniform(_ range: ClosedRange<Double>) -> Double {
        range.lowerBound * pow(range.upperBound / range.lowerBound, Double.random(in: 0...1, using: &self))
    }
}
