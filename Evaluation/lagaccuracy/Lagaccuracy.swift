internal import ArgumentParser

/// Measures how accurately stalls are found, compared with the observer-and-semaphore watchdog. `make accuracy` runs it.
@main
struct Lagaccuracy: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lagaccuracy",
        abstract: "Measures recall, false records and exactness, compared with the observer-and-semaphore watchdog.",
        subcommands: [MeasureCommand.self, TargetCommand.self, SpinCommand.self, StepClockCommand.self],
        defaultSubcommand: MeasureCommand.self
    )
}
