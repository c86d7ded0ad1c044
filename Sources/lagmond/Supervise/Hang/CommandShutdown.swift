internal import CLagLinux
internal import Glibc
internal import LagMonitor

/// Ends a command and all below it: SIGTERM to the command, which knows best how, and after a time SIGKILL to every process that is left.
///
/// Left are also those whose command ended first: a worker that hangs does not follow its master, and holds the master's sockets.
struct CommandShutdown {
    let process: WrappedProcess
    let grace: Duration

    /// How long the kernel may take after SIGKILL: a process in the middle of input or output is not gone at once.
    private static let killWait: Duration = .seconds(5)

    /// On any thread but the one that waits for the command; does not wait for it itself. Returns when nothing is left, or after
    /// the grace and five seconds.
    /// - Returns: Whether SIGKILL was needed.
    @discardableResult
    func run() -> Bool {
        var tree = ProcessTree()
        tree.add(below: process.pid)
        let deadline = MonotonicTime.now + grace
        process.send(SIGTERM)
        // One that is stopped would not hear of it.
        process.send(SIGCONT)
        while MonotonicTime.now < deadline {
            if tree.living == 0 { return false }
            usleep(Self.pollMicroseconds)
        }
        // Those that it has started since.
        if tree.isLiving(process.pid) { tree.add(below: process.pid) }
        guard tree.living > 0 else { return false }
        tree.kill()
        let last = MonotonicTime.now + Self.killWait
        while tree.living > 0, MonotonicTime.now < last { usleep(Self.pollMicroseconds) }
        return true
    }

    private static let pollMicroseconds: UInt32 = 20_000
}
