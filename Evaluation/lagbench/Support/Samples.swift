/// Measured values, and their statistics.
struct Samples {
    private let sorted: [Double]

    init(_ values: some Sequence<Double>) { sorted = values.sorted() }

    var count: Int { sorted.count }
    var median: Double { percentile(50) }
    var largest: Double { sorted.last ?? .nan }

    /// The nearest-rank percentile: the smallest value that `percent` of all values do not exceed. It does not interpolate
    /// between two values; with fewer than a hundred values the 99th percentile is the largest.
    func percentile(_ percent: Double) -> Double {
        guard !sorted.isEmpty else { return .nan }
        let rank = Int((percent / 100 * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }
}
