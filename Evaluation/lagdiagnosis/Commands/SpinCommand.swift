internal import ArgumentParser
internal import LagMonitor

/// A process that computes, to keep a processor busy. It ends with its parent, or by itself after a time limit.
struct SpinCommand: HiddenCommand {
    static let configuration = CommandConfiguration(commandName: "spin", shouldDisplay: false)

    @Option var parent: Int32

    private static let limit: Duration = .seconds(7200)

    func run() throws {
        try tieToParent()
        _ = countPrimes(until: .now + Self.limit)
    }
}
