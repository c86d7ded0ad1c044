internal import Foundation
internal import TestSupport

extension SeededGenerator {
    /// A separate stream for one purpose under one condition, so that a change to one does not shift the others.
    init(seed: UInt64, condition: Condition, purpose: UInt64) {
        let place = UInt64(Condition.allCases.firstIndex(of: condition) ?? 0)
        // Mixed, not added: states that differ by a multiple of the step are different positions in the same stream.
        var mixer = SeededGenerator(seed: seed)
        mixer = SeededGenerator(seed: mixer.next() ^ (place << 8 | purpose))
        self.init(seed: mixer.next())
    }

    /// A duration whose logarithm is uniformly distributed: 20 to 40 ms is as frequent as 1 to 2 s.
    mutating func logUniform(_ range: ClosedRange<Double>) -> Double {
        range.lowerBound * pow(range.upperBound / range.lowerBound, Double.random(in: 0...1, using: &self))
    }
}
