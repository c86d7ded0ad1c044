import Foundation
import LagMonitor

/// What both programs do with a line from standard input. Answers go to standard error; records have standard output to themselves.
@MainActor public enum Answers {
    public static func answer(_ line: String) {
        switch line {
        case "slow":
            say("slow on thread \(ThreadIdentity.current.tid) of process \(getpid())")
            waitForSlowDisk()
        case "hello": say("hello")
        default: say("hello or slow is wanted, not '\(line)'")
        }
    }

    /// The mistake: the main actor waits, and with it everything that is isolated to it.
    @inline(never) private static func waitForSlowDisk() { usleep(400_000) }

    private static func say(_ text: String) { "\(text)\n".withCString { _ = write(STDERR_FILENO, $0, strlen($0)) } }
}
