internal import ArgumentParser
internal import Foundation
internal import Glibc
internal import LagOutput

/// Runs the scenarios and prints the results of their records.
struct DiagnoseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diagnose",
        abstract: "Run the scenarios, and compare cause and culprit with the known ones.",
        discussion: """
            A line a scenario; then each miss with its stack, what was skipped, and the sums. docs/diagnosis.md explains the fields.

            Exit codes: 0 run; 1 with --check, something was missed; with --program of a service also where a record is missing or names
            another request; 64 usage.
            """
    )

    @Option(help: ArgumentHelp("Only this scenario; may be repeated.", valueName: "name"))
    var only: [String] = []

    @Flag(help: "Print the scenarios with their expected results; run nothing.")
    var list = false

    @Flag(help: "Print one line of JSON for each scenario: expectation, record and truth.")
    var json = false

    @Option(name: .customLong("repeat"), help: ArgumentHelp("How often each scenario is run, 1 to 100.", valueName: "times"))
    var times = 1

    @Flag(help: "Exit with 1 if a result is wrong or missing.")
    var check = false

    @Flag(help: "Shorter stalls, two at the same time: less than 40 s.")
    var short = false

    @Option(help: ArgumentHelp("Run the scenarios of another program, which lists them itself.", valueName: "path"))
    var program: String?

    @Option(help: ArgumentHelp("With --program: run again beside this many computing processes, 0 to 64.", valueName: "count"))
    var busy = 0

    @Flag(help: "With --program: also show the result of each unseen scenario.")
    var reveal = false

    @Flag(help: "With --program: stalls of five seconds, which gdb and eu-stack also sample; prints only sums.")
    var compare = false

    func validate() throws {
        guard (1...100).contains(times) else { throw ValidationError("--repeat is \(times); allowed is 1 to 100") }
        guard (0...64).contains(busy) else { throw ValidationError("--busy is \(busy); allowed is 0 to 64") }
        guard program != nil || (busy == 0 && !reveal && !compare) else {
            throw ValidationError("--busy, --reveal and --compare need --program")
        }
        guard program == nil || !short else { throw ValidationError("--short is not allowed with --program") }
        let scenarios = try allScenarios()
        for name in only where !scenarios.contains(where: { $0.name == name }) {
            let known = scenarios.map(\.name).joined(separator: ", ")
            throw ValidationError("--only is '\(name)'; allowed is \(known)")
        }
    }

    func run() throws {
        let scenarios = try allScenarios().filter { only.isEmpty || only.contains($0.name) }
        if list {
            for scenario in scenarios { print(Self.entry(scenario)) }
            return
        }
        if let program, compare { return try runWithDebuggers(program: program, scenarios: scenarios) }
        if let program { return try run(program: program, scenarios: scenarios) }
        let milliseconds = short ? Self.shortMilliseconds : Self.milliseconds
        let trials = scenarios.flatMap { Array(repeating: Trial(scenario: $0, milliseconds: milliseconds), count: times) }
        let printsJSON = json
        let verdicts = TrialRunner(trials: trials, size: short ? 2 : 1).execute { verdict in
            print(printsJSON ? verdict.json : verdict.text)
            fflush(nil)
        }
        let summary = Summary(verdicts: verdicts)
        for verdict in summary.skipped { say(verdict.text) }
        if !json {
            for miss in verdicts.compactMap(\.miss) { print(miss) }
            print(summary.sharesText)
            print(summary.text)
        }
        if check, !summary.isClean { throw ExitCode.failure }
    }

    private func allScenarios() throws -> [Scenario] { try program.map(Scenario.listed) ?? Corpus.scenarios }

    /// How long a scenario stalls, if its duration can be set.
    static let milliseconds = 600
    private static let shortMilliseconds = 450

    private static func entry(_ scenario: Scenario) -> String {
        let causes = scenario.causes.map(\.rawValue).joined(separator: " or ")
        return "\(scenario.name): \(causes) in \(scenario.culprits.joined(separator: " or ")) – \(scenario.summary)"
    }

    func say(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("lagdiagnosis: \(text)\n".utf8))
    }
}
