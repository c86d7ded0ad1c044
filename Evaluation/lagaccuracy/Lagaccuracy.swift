internal import ArgumentParser

/// Measures how exactly stalls are found, beside the observer-and-semaphore watchdog. `make accuracy` runs it.
@main
struct Lagaccuracy: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lagaccuracy",
        abstract: "Measures recall, false records and exactness, against the observer-and-semaphore watchdog.",
        subcommands: [MeasureCommand.self, TargetCommand.self, SpinCommand.self, StepClockCommand.self],
        defaultSubcommand: MeasureCommand.self
    )
}
