internal import CLagRemote
internal import Glibc

/// Servers with a thread per client: their loops only accept connections, and the threads are not watched.
package enum ThreadServer {
    /// Whether a process is one: a loop of it rests while clients are connected that it does not wait for. Takes some 100 µs, and
    /// 3 for each of its sockets. Also false if the kernel does not permit examining it. Any thread.
    package static func isRun(by process: Int32) -> Bool {
        let descriptor = clr_pidfd_open(process)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return clr_serves_by_threads(descriptor, process) != 0
    }
}
