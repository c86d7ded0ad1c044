internal import LagRunLoop

/// Threads submit work to one loop at the same time: milliseconds until the last piece is done, compared with CFRunLoop's blocks.
struct PerformContended: PairedBenchmark {
    let threads: Int
    var name: String { "perform_threads_\(threads)" }
    let unit = "ms"
    let peer = "cfrunloop"
    var rounds: Int { Producers.rounds }

    func ours() throws -> Double {
        let thread = try KeepAliveThread(name: "bench-perform")
        defer {
            thread.stop()
            thread.join()
        }
        return try Producers.milliseconds(threads) { done in thread.loop.perform { done.add() } }
    }

    func theirs() throws -> Double {
        let loop = try CoreFoundationLoop {}
        defer { loop.stop() }
        return try Producers.milliseconds(threads) { done in loop.perform { done.add() } }
    }
}
