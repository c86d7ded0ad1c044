internal import ArgumentParser
internal import LagMonitor

/// Keeps a processor busy until it is killed or its time limit is reached.
struct SpinCommand: HiddenCommand {
    static let configuration = CommandConfiguration(commandName: "spin", shouldDisplay: false)

    @Option var parent: Int32
    @Option var seconds: Int

    func run() throws {
        try tieToParent()
        let end = MonotonicTime.now + .seconds(seconds)
        while MonotonicTime.now < end {}
    }
}
