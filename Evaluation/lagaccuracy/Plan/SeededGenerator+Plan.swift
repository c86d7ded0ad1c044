internal import Foundation
internal import TestSupport

extension SeededGenerator {
    /// A separate stream for one purpose under one condition, so that a change to one does not shift the others.
    init(seed: UInt64, condition: Condition, purpose: UInt64) {
        let place = UInt64(Condition.allCases.firstIndex(of: condition) ?? 0)
        // Mixed, not added: states that differ by a multiple of the step are one stream, read from different places.
        var mixer = SeededGenerator(seed: seed)
        mixer = SeededGenerator(seed: mixer.next() ^ (place << 8 | purpose))
        self.init(seed: mixer.next())
    }

    /// A length whose logarithm is uniformly distributed: as many between 20 and 40 ms as between 1 and 2 s.
    mutating func logUniform(_ range: ClosedRange<Double>) -> Double {
        range.lowerBound * pow(range.upperBound / range.lowerBound, Double.random(in: 0...1, using: &self))
    }
}
