/// The result of a benchmark, and whether it meets its targets.
struct BenchmarkResult {
    let name: String
    let targets: [Target]
    /// The figure itself.
    let figure: BenchLine
    /// Further aspects of it.
    let others: [BenchLine]

    init(benchmark: any Benchmark, figures: [BenchLine]) {
        precondition(figures.first?.name == benchmark.name, "the first figure of \(benchmark.name) has its name")
        name = benchmark.name
        targets = benchmark.targets
        figure = figures[0]
        others = Array(figures.dropFirst())
    }

    var isMet: Bool { targets.allSatisfy { $0.isMet(by: figure) } }

    var lines: [String] {
        [figure.text] + others.map(\.text)
            + targets.map { "target \(name) \($0.text) \($0.isMet(by: figure) ? "met" : "missed")" }
    }
}

/// The results as a table for the README.
struct MarkdownTable {
    let machine: Machine
    let results: [BenchmarkResult]

    var text: String {
        var rows = [
            "| figure | measured | target | peer | peer / ours | |",
            "|---|---|---|---|---|---|",
        ]
        for result in results {
            rows.append(row(result.figure, targets: result.targets.map(\.text).joined(separator: ", "), met: result.isMet))
            for other in result.others { rows.append(row(other, targets: "", met: nil)) }
        }
        return rows.joined(separator: "\n") + "\n\nMeasured on: \(machine.sentence).\n"
    }

    private func row(_ line: BenchLine, targets: String, met: Bool?) -> String {
        var measured = "\(BenchLine.format(line.value)) \(line.unit.replacing("_", with: " "))"
        if let p50 = line.p50 { measured += ", p50 \(BenchLine.format(p50))" }
        if let p99 = line.p99 { measured += ", p99 \(BenchLine.format(p99))" }
        let peer = line.peer.map { "\($0.name.replacing("_", with: " ")): \(BenchLine.format($0.value))" } ?? ""
        let ratio = line.ratio.map { $0.isFinite ? BenchLine.format($0) : "∞" } ?? ""
        let verdict = met.map { $0 ? "met" : "**missed**" } ?? ""
        return
            "| `\(line.name)` | \(measured) | \(targets.replacing("<=", with: "≤").replacing(">=", with: "≥")) | \(peer) | \(ratio) | \(verdict) |"
    }
}
