internal import ArgumentParser
internal import Foundation
internal import Glibc

/// The stalling process. Prints the monitor's lines on stdout and, as the last line, its own.
struct StallCommand: HiddenCommand {
    static let configuration = CommandConfiguration(commandName: "stall", shouldDisplay: false)

    @Option var parent: Int32
    @Option var scenario: String
    @Option var milliseconds: Int
    /// The memory control group to enter.
    @Option var group: String?

    func run() throws {
        try tieToParent()
        signal(SIGPIPE, SIG_IGN)
        guard let scenario = Corpus.scenario(named: scenario) else { throw DiagnosisFailure("no scenario '\(scenario)'") }
        let run = ScenarioRun(scenario: scenario, length: .milliseconds(milliseconds), group: group)
        let report: ChildReport
        do {
            report = .measured(try run.execute())
        } catch let unavailable as Unavailable {
            report = .skipped(unavailable.reason)
        }
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(report) + Data("\n".utf8))
        // Threads that wait for each other never end.
        _exit(EXIT_SUCCESS)
    }
}
