/// One benchmark: how its figure is measured, and its target.
protocol Benchmark: Sendable {
    /// Its name in the lines, such as `activity_store`.
    var name: String { get }
    var unit: String { get }
    /// The targets of this figure; all must be met.
    var targets: [Target] { get }

    /// Measures. The first figure has the benchmark's name; further figures have other names, show further aspects, and
    /// have no target. Called once, on the main thread, while no monitor runs.
    func run() throws -> [BenchLine]
}

/// A bound on one number of a figure.
struct Target: Sendable {
    enum Subject: String, Sendable {
        case value
        /// The 99th percentile.
        case p99
        /// The peer's value divided by the monitor's.
        case ratio
    }

    enum Bound: Sendable {
        case atMost(Double)
        case atLeast(Double)
    }

    let subject: Subject
    let bound: Bound

    init(_ subject: Subject, _ bound: Bound) {
        self.subject = subject
        self.bound = bound
    }

    func isMet(by line: BenchLine) -> Bool {
        let number: Double? =
            switch subject {
            case .value: line.value
            case .p99: line.p99
            case .ratio: line.ratio
            }
        guard let number else { return false }
        return switch bound {
        case .atMost(let limit): number <= limit
        case .atLeast(let limit): number >= limit
        }
    }

    /// Such as `<= 2`, `p99 <= 50`, `ratio >= 100`.
    var text: String {
        let prefix = subject == .value ? "" : "\(subject.rawValue) "
        return switch bound {
        case .atMost(let limit): "\(prefix)<= \(BenchLine.format(limit))"
        case .atLeast(let limit): "\(prefix)>= \(BenchLine.format(limit))"
        }
    }
}

/// A figure could not be measured.
struct BenchmarkFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
