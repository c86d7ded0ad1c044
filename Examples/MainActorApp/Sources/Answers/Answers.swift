import Foundation
import LagMonitor

/// What both programs do with a line from standard input. Answers go to standard error. Standard output is for records only.
@MainActor public enum Answers {
    public static func answer(_ line: String) {
        switch line {
        case "slow":
            say("slow on thread \(ThreadIdentity.current.tid) of process \(getpid())")
            waitForSlowDisk()
        case "hello": say("hello")
        default: say("expected hello or slow, got '\(line)'")
        }
    }

    /// The mistake: it blocks the main actor, and everything that is isolated to the main actor waits.
    @inline(never) private static func waitForSlowDisk() { usleep(400_000) }

    private static func say(_ text: String) { "\(text)\n".withCString { _ = write(STDERR_FILENO, $0, strlen($0)) } }
}
