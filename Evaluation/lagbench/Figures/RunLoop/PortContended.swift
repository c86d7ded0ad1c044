internal import LagRunLoop

/// Threads send messages to one port at the same time: milliseconds until the last message is handled. The peer is a replacement
/// on a CFRunLoop, which has no ports on Linux: an array with a lock, and a manual source that is signalled.
struct PortContended: PairedBenchmark {
    let threads: Int
    var name: String { "port_threads_\(threads)" }
    let unit = "ms"
    let peer = "cfrunloop_source"
    var rounds: Int { Producers.rounds }

    func ours() throws -> Double {
        let thread = try KeepAliveThread(name: "bench-port")
        defer {
            thread.stop()
            thread.join()
        }
        let done = Tally()
        let port = RunLoopPort { _, _ in done.add() }
        thread.loop.add(port, to: .default)
        return try Producers.milliseconds(threads, done) { _ in port.send(id: 1) }
    }

    func theirs() throws -> Double {
        let done = Tally()
        let inbox = LockedInbox { _ in done.add() }
        let loop = try CoreFoundationLoop { inbox.handleAll() }
        defer { loop.stop() }
        return try Producers.milliseconds(threads, done) { _ in
            inbox.append(1)
            loop.signal()
        }
    }
}
