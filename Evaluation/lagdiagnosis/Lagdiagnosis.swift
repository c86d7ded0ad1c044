internal import ArgumentParser

/// Compares the monitor's diagnosis of a stall with the known truth. `make diagnosis` runs it.
@main
struct Lagdiagnosis: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lagdiagnosis",
        abstract: "Cause stalls with known cause and culprit, each in a separate process, and check their records.",
        subcommands: [DiagnoseCommand.self, StallCommand.self, HoldCommand.self, SpinCommand.self],
        defaultSubcommand: DiagnoseCommand.self
    )
}
