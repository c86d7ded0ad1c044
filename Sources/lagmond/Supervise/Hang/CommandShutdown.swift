internal import CLagLinux
internal import Glibc
internal import LagMonitor

/// Ends a command and all its descendants: SIGTERM to the command, which can shut down its children, and later SIGKILL to each
/// remaining process.
///
/// Processes can also remain after the command itself ended: a hanging worker does not exit with its master, and keeps the
/// master's sockets.
struct CommandShutdown {
    let process: WrappedProcess
    let grace: Duration

    /// How long the kernel may take after SIGKILL: a process in the middle of I/O does not exit at once.
    private static let killWait: Duration = .seconds(5)

    /// Call it on any thread except the one that waits for the command; it does not wait for the command itself. Returns when no
    /// process remains, or after the grace period and five seconds.
    /// - Returns: Whether SIGKILL was needed.
    @discardableResult
    func run() -> Bool {
        var tree = ProcessTree()
        tree.add(below: process.pid)
        let deadline = MonotonicTime.now + grace
        process.send(SIGTERM)
        // A stopped process would not handle SIGTERM.
        process.send(SIGCONT)
        var listedAt = MonotonicTime.now
        while MonotonicTime.now < deadline {
            if tree.living == 0 { return false }
            usleep(Self.pollMicroseconds)
            guard MonotonicTime.now - listedAt >= Self.listInterval else { continue }
            tree.addDescendants()
            listedAt = .now
        }
        tree.addDescendants()
        guard tree.living > 0 else { return false }
        let last = MonotonicTime.now + Self.killWait
        repeat {
            tree.kill()
            usleep(Self.pollMicroseconds)
            // A process may have forked while the others were killed.
            tree.addDescendants()
        } while tree.living > 0 && MonotonicTime.now < last
        return true
    }

    private static let pollMicroseconds: UInt32 = 20_000
    /// A list takes some 10 µs per process of the machine.
    private static let listInterval: Duration = .milliseconds(500)
}
