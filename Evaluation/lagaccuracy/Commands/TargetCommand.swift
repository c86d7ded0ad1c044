internal import ArgumentParser
internal import Foundation
internal import Glibc

/// The process that is stalled. Prints `ready` when it begins, and its report at the end.
struct TargetCommand: HiddenCommand {
    static let configuration = CommandConfiguration(commandName: "target", shouldDisplay: false)

    @Option var parent: Int32
    @Option var condition: Condition
    @Option var seed: UInt64
    @Option var count: Int
    @Flag var short = false
    @Flag var setClock = false

    func run() throws {
        try tieToParent()
        signal(SIGPIPE, SIG_IGN)
        let options = RunOptions(seed: seed, count: count, isShort: short, setsClock: setClock)
        let target = TargetRun(
            condition: condition,
            plan: options.plan(for: condition),
            seed: seed,
            clockSetter: setClock && condition == .stepped ? 3 : nil
        )
        let report = try JSONEncoder().encode(try target.execute())
        try FileHandle.standardOutput.write(contentsOf: report)
        // The thread of the observer-and-semaphore watchdog never ends, so this does not wait for it.
        _exit(EXIT_SUCCESS)
    }
}
