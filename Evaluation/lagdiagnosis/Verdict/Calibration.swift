internal import Foundation

/// The calibration of the confidence that records have in their culprit.
struct Calibration {
    /// One tenth of the range of confidences.
    struct Bin {
        let bounds: String
        let count: Int
        /// The share of records whose culprit is correct.
        let right: Double
        /// The mean of the records' confidence.
        let mean: Double
    }

    let bins: [Bin]
    /// Records with a confidence.
    let records: Int

    private static let binCount = 10

    init(_ verdicts: [Verdict]) {
        let said = verdicts.compactMap { verdict in
            verdict.record?.fields.culpritConfidence.map { (confidence: $0, isRight: verdict.culpritIsRight) }
        }
        records = said.count
        bins = (0..<Self.binCount).compactMap { bin in
            let own = said.filter { min(Self.binCount - 1, Int($0.confidence * Double(Self.binCount))) == bin }
            guard !own.isEmpty else { return nil }
            let bounds = [bin, bin + 1].map { String(format: "%.1f", Double($0) / Double(Self.binCount)) }
            return Bin(
                bounds: bounds.joined(separator: "-"),
                count: own.count,
                right: Double(own.count { $0.isRight }) / Double(own.count),
                mean: own.reduce(0) { $0 + $1.confidence } / Double(own.count)
            )
        }
    }

    /// The mean distance between the stated confidence and the share of correct culprits, weighted by each bin's count; nil
    /// without records.
    var expectedError: Double? {
        bins.isEmpty ? nil : bins.reduce(0) { $0 + abs($1.right - $1.mean) * Double($1.count) } / Double(records)
    }
}
