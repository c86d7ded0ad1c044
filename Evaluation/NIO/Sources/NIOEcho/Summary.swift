import Glibc

/// The median of some measurements, and its 95 % confidence interval (by order statistics).
struct Summary {
    let median: Double
    let low: Double
    let high: Double

    init(_ values: [Double]) {
        let sorted = values.sorted()
        let count = Double(sorted.count)
        // Binomial with p = 0.5, normal approximation.
        let half = 1.96 * count.squareRoot() / 2
        median = (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
        low = sorted[max(0, Int((count / 2 - half).rounded(.down)))]
        high = sorted[min(sorted.count - 1, Int((count / 2 + half).rounded(.up)))]
    }
}

extension Double {
    /// The text with this many decimals.
    func text(_ decimals: Int) -> String {
        let scale = pow(10, Double(decimals))
        var digits = String(Int((abs(self) * scale).rounded()))
        while digits.count <= decimals { digits = "0" + digits }
        let point = digits.index(digits.endIndex, offsetBy: -decimals)
        return (self < 0 ? "-" : "") + digits[..<point] + (decimals > 0 ? "." : "") + digits[point...]
    }
}

func pause(milliseconds: Int) { usleep(UInt32(milliseconds) * 1000) }
