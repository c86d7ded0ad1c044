internal import CLagRemote
internal import Glibc

/// Servers that give each client a thread of its own: their loops are there for new connections alone, and what the threads do is not watched.
package enum ThreadServer {
    /// Whether a process is found to be one: a loop of it rests while clients are connected that it does not wait for. Some 100 µs, and 3 for each of its sockets. False
    /// also where the kernel does not let us see it. Any thread.
    package static func isRun(by process: Int32) -> Bool {
        let descriptor = clr_pidfd_open(process)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return clr_serves_by_threads(descriptor, process) != 0
    }
}
