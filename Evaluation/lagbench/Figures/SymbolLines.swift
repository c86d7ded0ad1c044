internal import Foundation
internal import LagDiagnosis
internal import LagSymbols

/// The long-running child looks up files, lines and inlined functions for thirty frames of one program, which were not queried
/// before. The peer is the toolchain's own symboliser on thirty frames of the same program.
///
/// `symbol_lines_first` is the first batch, including the child's start and its reading of the program.
/// `symbol_lines_child` is the child's memory afterwards, including the program's pages.
struct SymbolLines: Benchmark {
    let name = "symbol_lines"
    let unit = "ms"
    let targets = [Target(.value, .atMost(30))]
    /// The program in which names and lines are looked up; nil: this one.
    let subject: String?

    private static let batches = 20
    private static let starts = 10

    func run() throws -> [BenchLine] {
        let subject = try SymbolSubject(subject)
        let batches = try subject.batches(Self.batches + 1)
        let first = Samples(
            (0..<Self.starts).map { _ in
                var lines = LineSymbolizer()
                defer { lines.close() }
                return Stopwatch.milliseconds { _ = lines.levels(for: batches[0]) }
            }
        )
        var lines = LineSymbolizer()
        defer { lines.close() }
        guard lines.program != nil else { throw BenchmarkFailure("no llvm-symbolizer on this machine") }
        let found = lines.levels(for: batches[0])
        var levels = 0
        let later = Samples(
            batches.dropFirst().map { batch in
                Stopwatch.milliseconds { levels += lines.levels(for: batch).reduce(0) { $0 + $1.count } }
            }
        )
        guard found.contains(where: { !$0.isEmpty }) else { throw BenchmarkFailure("\(subject.path): no line was found") }
        var line = BenchLine(name, later.median, unit)
        line.p99 = later.percentile(99)
        if let peer = subject.isOwn ? ToolchainSymbolizer.lines() : ToolchainSymbolizer.measured(by: subject.path) {
            line = line.comparing(with: "toolchain_runtime", peer)
        }
        line = subject.annotating(line).annotating("levels", levels).annotating(
            "cache_limit_mb",
            LineSymbolizer.defaultCacheBytes >> 20
        )
        var figures = [line, BenchLine("symbol_lines_first", first.median, unit).annotating("starts", first.count)]
        if let child = lines.childPID, let resident = Self.residentMegabytes(child) {
            figures.append(BenchLine("symbol_lines_child", resident, "MB"))
        }
        return figures
    }

    private static func residentMegabytes(_ pid: Int32) -> Double? {
        guard let text = FileHandle(forReadingAtPath: "/proc/\(pid)/status").flatMap({ try? $0.readToEnd() }) else { return nil }
        let line = String(decoding: text, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line?.split(separator: " ").dropFirst().first.flatMap { Double($0) }.map { $0 / 1024 }
    }
}

/// Looks up the same frames again.
struct SymbolLinesKnown: Benchmark {
    let name = "symbol_lines_known"
    let unit = "ms"
    let targets = [Target(.value, .atMost(0.1))]
    /// The program in which names and lines are looked up; nil: this one.
    let subject: String?

    private static let rounds = 1000

    func run() throws -> [BenchLine] {
        let subject = try SymbolSubject(subject)
        let batch = try subject.batches(1)[0]
        var lines = LineSymbolizer()
        defer { lines.close() }
        _ = lines.levels(for: batch)
        let times = Samples(
            (0..<Self.rounds).map { _ in Stopwatch.milliseconds { _ = lines.levels(for: batch) } }
        )
        return [subject.annotating(BenchLine(name, times.median, unit))]
    }
}
