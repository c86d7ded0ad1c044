internal import ArgumentParser
internal import Glibc

/// The other process of the scenario `flock`: locks a file, prints a line, and releases the lock when stdin ends.
struct HoldCommand: HiddenCommand {
    static let configuration = CommandConfiguration(commandName: "hold", shouldDisplay: false)

    @Option var parent: Int32
    @Option var path: String

    func run() throws {
        try tieToParent()
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0, flock(descriptor, LOCK_EX) == 0 else {
            throw DiagnosisFailure("\(path): \(String(cString: strerror(errno)))")
        }
        print("held")
        fflush(nil)
        while readLine() != nil {}
    }
}
