internal import Foundation

/// A process that sleeps in one call, with one thread, until it is ended: at the latest with this object.
public final class SleepingProcess {
    private let process = Process()
    public let pid: Int32

    public init() throws {
        process.executableURL = URL(fileURLWithPath: "/bin/sleep")
        process.arguments = ["600"]
        try process.run()
        pid = process.processIdentifier
    }

    deinit { end() }

    public func end() {
        // It could have inherited other signals as ignored.
        if process.isRunning { kill(pid, SIGKILL) }
        process.waitUntilExit()
    }
}
