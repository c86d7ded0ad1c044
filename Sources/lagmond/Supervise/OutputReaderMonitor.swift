internal import Glibc
internal import Synchronization

/// Detects that the reader of stdout is gone, also while there is nothing to write.
///
/// The kernel reports `POLLERR` on a pipe's (and a socket's) writing end when the last reader is gone.
final class OutputReaderMonitor: Sendable {
    private let gone = Atomic(false)

    private var isGone: Bool { gone.load(ordering: .acquiring) }

    /// Reports on stderr if the reader is gone.
    func report() { if isGone { Diagnostics.report("the reader of stdout is gone: exiting") } }

    /// Watches `descriptor` on a separate thread and sends SIGTERM to this process, which ends the run normally.
    func start(_ descriptor: Int32) throws(StartFailure) {
        try HelperThread.start("stdout-reader") { [self] in
            var entry = pollfd(fd: descriptor, events: 0, revents: 0)
            while true {
                let count = poll(&entry, 1, -1)
                if count < 0 && errno == EINTR { continue }
                guard count > 0, entry.revents & Int16(POLLERR | POLLHUP) != 0 else { return }
                gone.store(true, ordering: .releasing)
                kill(getpid(), SIGTERM)
                return
            }
        }
    }
}
