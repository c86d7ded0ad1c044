internal import Foundation

/// `lagbench`: measures the monitor's cost and speed, compared with the observer-and-semaphore watchdog, in one run.
@main
enum Lagbench {
    /// All benchmarks, in the order of the run. The quiet ones come first, so that no earlier load affects them.
    /// - Parameter subject: the program in which names and lines are looked up; nil: this one.
    static func benchmarks(subject: String? = nil) -> [any Benchmark] {
        [
            ActivityStore(), LoopIteration(), FoundationLoopIteration(), WatchdogWakesIdle(), WatchdogWakesBusy(),
            CapturePauseSignal(),
            CapturePausePassive(), UnwindFrame(), ThousandLoopsTick(), PreloadedWait(), ResidentSetStart(), DetectLatency(),
            ContextSet(), SymbolNames(subject: subject),
            SymbolNamesKnown(subject: subject), SymbolLines(subject: subject), SymbolLinesKnown(subject: subject),
        ] + runLoopAtScale
    }

    /// The run loop compared with Foundation's, under increasing load.
    private static var runLoopAtScale: [any Benchmark] {
        let bySize: [any Benchmark] = [10, 1_000, 10_000, 100_000].flatMap { count -> [any Benchmark] in
            [TimersDue(count: count), PerformAfter(count: count), TimersAdded(count: count), TimerReplaced(count: count)]
        }
        let byThreads: [any Benchmark] = [1, 2, 4, 8, 16].flatMap { threads -> [any Benchmark] in
            [PerformContended(threads: threads), PortContended(threads: threads)]
        }
        return bySize + byThreads
    }

    static func main() {
        let options: Options
        do throws(UsageError) {
            options = try Options(arguments: CommandLine.arguments.dropFirst(), names: benchmarks().map(\.name))
        } catch {
            standardError("lagbench: \(error)\n\n\(Options.help)")
            exit(EX_USAGE)
        }
        switch options.verb {
        case .help: print(Options.help)
        case .list: for benchmark in benchmarks() { print(benchmark.name) }
        case .probe(.rss): ResidentSetStart.probe()
        case .run: exit(run(options) ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    /// - Returns: false if a figure could not be measured, or, with `--check`, missed its target.
    private static func run(_ options: Options) -> Bool {
        let machine = Machine.current()
        if !options.markdown { show(machine.lines) }
        var results: [BenchmarkResult] = []
        var failed = false
        for benchmark in benchmarks(subject: options.subject) where options.only.isEmpty || options.only.contains(benchmark.name)
        {
            do {
                let result = BenchmarkResult(benchmark: benchmark, figures: try benchmark.run())
                results.append(result)
                if !options.markdown { show(result.lines) }
            } catch {
                failed = true
                standardError("lagbench: \(benchmark.name) could not be measured: \(error)\n")
            }
        }
        if options.markdown { print(MarkdownTable(machine: machine, results: results).text, terminator: "") }
        let missed = results.contains { !$0.isMet }
        return !failed && !(options.check && missed)
    }

    /// Writes immediately, even into a pipe, because a run takes long.
    private static func show(_ lines: [String]) {
        for line in lines { print(line) }
        fflush(nil)
    }

    private static func standardError(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
