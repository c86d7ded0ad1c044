internal import LagDiagnosis

/// Looks up names for thirty frames of one program, which were not queried before: one pass over its symbol table. The peer is
/// the toolchain's own symboliser, which looks up only names, for the first time, for thirty frames of this program.
struct SymbolNames: Benchmark {
    let name = "symbol_names"
    let unit = "ms"
    let targets = [Target(.value, .atMost(20))]
    /// The program in which names are looked up; nil: this one.
    let subject: String?

    private static let batches = 20

    func run() throws -> [BenchLine] {
        let subject = try SymbolSubject(subject)
        var symbolizer = Symbolizer()
        let times = Samples(
            try subject.batches(Self.batches).map { batch in
                Stopwatch.milliseconds { _ = symbolizer.resolve(batch) }
            }
        )
        var line = BenchLine(name, times.median, unit)
        line.p99 = times.percentile(99)
        if subject.isOwn, let peer = ToolchainSymbolizer.names() {
            line = line.comparing(with: "toolchain_runtime", peer)
        }
        return [subject.annotating(line).annotating("cache_limit_mb", Symbolizer.cacheBytes >> 20)]
    }
}

/// Looks up the same frames again.
struct SymbolNamesKnown: Benchmark {
    let name = "symbol_names_known"
    let unit = "ms"
    let targets = [Target(.value, .atMost(0.1))]
    /// The program in which names are looked up; nil: this one.
    let subject: String?

    private static let rounds = 1000

    func run() throws -> [BenchLine] {
        let subject = try SymbolSubject(subject)
        let batch = try subject.batches(1)[0]
        var symbolizer = Symbolizer()
        _ = symbolizer.resolve(batch)
        let times = Samples(
            (0..<Self.rounds).map { _ in Stopwatch.milliseconds { _ = symbolizer.resolve(batch) } }
        )
        return [subject.annotating(BenchLine(name, times.median, unit))]
    }
}
