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
        while MonotonicTime.now < deadline {
            if tree.living == 0 { return false }
            usleep(Self.pollMicroseconds)
        }
        // Adds the processes that it has started since.
        if tree.isLiving(process.pid) { tree.add(below: process.pid) }
        guard tree.living > 0 else { return false }
        tree.kill()
        let last = MonotonicTime.now + Self.killWait
        while tree.living > 0, MonotonicTime.now < last { usleep(Self.pollMicroseconds) }
        return true
    }

    private static let pollMicroseconds: UInt32 = 20_000
}
