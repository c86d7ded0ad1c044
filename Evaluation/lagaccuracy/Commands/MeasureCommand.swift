internal import ArgumentParser
internal import Foundation
internal import Glibc

/// Runs each condition once, and prints the detectors' results.
struct MeasureCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "measure",
        abstract: "Inject known stalls, and print how well the detectors found them.",
        discussion: """
            Prints one line for each condition and detector on stdout, progress and errors on stderr. \
            docs/accuracy.md describes how the truth is computed.

            Exit codes: 0 measured; 1 the run failed, or with --check a target was missed; 64 usage.
            """
    )

    @Option(help: ArgumentHelp("The seed of the random numbers.", valueName: "number"))
    var seed = RunOptions.defaultSeed

    @Option(help: ArgumentHelp("The number of stalls in each condition, 1 to 10000.", valueName: "stalls"))
    var count = RunOptions.defaultCount

    @Option(
        help: ArgumentHelp(
            "Only this condition (\(Condition.allCases.map(\.rawValue).joined(separator: ", "))); may be repeated.",
            valueName: "name"
        )
    )
    var condition: [Condition] = []

    @Flag(help: "A few stalls in each condition, in less than 20 s.")
    var short = false

    @Flag(help: "Also print the table for the README.")
    var markdown = false

    @Flag(help: "Exit with 1 if a target is missed.")
    var check = false

    @Flag(help: "Set the machine's wall clock in `stepped`, by up to 10 minutes, and back; needs CAP_SYS_TIME.")
    var setClock = false

    func validate() throws {
        guard (1...10_000).contains(count) else { throw ValidationError("--count is \(count); allowed is 1 to 10000") }
    }

    func run() throws {
        let options = RunOptions(seed: seed, count: count, isShort: short, setsClock: setClock)
        var lines: [AccuracyLine] = []
        for name in Condition.allCases where condition.isEmpty || condition.contains(name) {
            say("\(name.rawValue): about \(Int(options.plan(for: name).plannedMilliseconds / 1000)) s of stalls and gaps")
            let outcome = try ConditionRun(condition: name, options: options).execute()
            let fresh = AccuracyReport(condition: name, options: options, outcome: outcome).lines
            for line in fresh {
                print(line.text)
                if line.detector == AccuracyLine.monitor {
                    for detail in line.details(since: outcome.start) { say(detail) }
                }
            }
            fflush(nil)
            lines += fresh
        }
        if markdown { print(AccuracyTable(lines: lines, sentence: sentence).text) }
        let missed = lines.flatMap { line in line.missedTargets.map { "\(line.condition.rawValue) \($0)" } }
        for target in missed { say("target missed: \(target)") }
        if check, !missed.isEmpty { throw ExitCode.failure }
    }

    private var sentence: String {
        let form = short ? "--short" : "--count \(count)"
        return "Made with `lagaccuracy --seed \(seed) \(form)` on \(sysconf(Int32(_SC_NPROCESSORS_ONLN))) processors."
    }

    private func say(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("lagaccuracy: \(text)\n".utf8))
    }
}
