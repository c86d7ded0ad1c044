internal import LagRunLoop

/// Threads that submit work to one loop at the same time: milliseconds until the last piece is done, against CFRunLoop's blocks.
struct PerformContended: Benchmark {
    let threads: Int
    var name: String { "perform_threads_\(threads)" }
    let unit = "ms"
    let targets = [Target(.ratio, .atLeast(1))]

    func run() throws -> [BenchLine] {
        try Paired.line(name, unit, peer: "cfrunloop", rounds: Producers.rounds, ours: { try ours() }, theirs: { try theirs() })
    }

    private func ours() throws -> Double {
        let thread = try KeepAliveThread(name: "bench-perform")
        defer {
            thread.stop()
            thread.join()
        }
        return try Producers.milliseconds(threads) { done in thread.loop.perform { done.add() } }
    }

    private func theirs() throws -> Double {
        let loop = try CoreFoundationLoop {}
        defer { loop.stop() }
        return try Producers.milliseconds(threads) { done in loop.perform { done.add() } }
    }
}
