internal import ArgumentParser

/// Holds what the monitor says of a stall against what is known of it. `make diagnosis` runs it.
@main
struct Lagdiagnosis: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lagdiagnosis",
        abstract: "Stalls with known cause and culprit, each in a process of its own, and what the records say of them.",
        subcommands: [DiagnoseCommand.self, StallCommand.self, HoldCommand.self, SpinCommand.self],
        defaultSubcommand: DiagnoseCommand.self
    )
}
