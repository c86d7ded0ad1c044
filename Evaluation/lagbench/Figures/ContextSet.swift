internal import CLagBeacon
internal import LagMonitor

/// The cost of `withStallContext` for the working thread: around an empty body, without and with a monitor that uses contexts;
/// within a task that does not suspend; and with an attribute.
///
/// Measures batches in a tight loop. The clock is read around each batch, and the cost of the loop is not subtracted. The result
/// is the median of the batches.
struct ContextSet: Benchmark {
    let name = "context_set"
    let unit = "ns"
    let targets = [Target(.value, .atMost(60))]

    private static let batches = 300
    private static let contextsPerBatch = 10_000

    func run() throws -> [BenchLine] {
        let unwatched = Samples((0..<Self.batches).map { _ in batch() })
        var configuration = StallMonitorConfiguration()
        configuration.contexts = .recorded
        let monitor = StallMonitor(configuration: configuration)
        try monitor.start()
        defer { monitor.stop() }
        let sync = Samples((0..<Self.batches).map { _ in batch() })
        let attribute = Samples((0..<Self.batches).map { _ in attributeBatch() })
        let results = TaskResults()
        let done = Flag()
        Task.detached {
            for _ in 0..<Self.batches { results.values.append(await Self.asyncBatch()) }
            done.set()
        }
        while !done.isSet { Pause.sleep(milliseconds: 1) }
        return [
            BenchLine(name, Samples(results.values).median, unit),
            BenchLine("context_set_sync", sync.median, unit),
            BenchLine("context_set_attribute", attribute.median, unit),
            BenchLine("context_unwatched", unwatched.median, unit),
        ]
    }

    // Unchecked: the task writes it before it sets the flag, and the creator of the task reads it after that.
    private final class TaskResults: @unchecked Sendable {
        var values: [Double] = []
    }

    @inline(never) private func batch() -> Double {
        let begin = clb_now_ns()
        for _ in 0..<Self.contextsPerBatch { withStallContext(name: "GET /orders/:id") { nothing() } }
        return Double(clb_now_ns() - begin) / Double(Self.contextsPerBatch)
    }

    @inline(never) private func attributeBatch() -> Double {
        let begin = clb_now_ns()
        for _ in 0..<Self.contextsPerBatch { withStallContext(name: "GET /orders/:id", ["tenant": "a"]) { nothing() } }
        return Double(clb_now_ns() - begin) / Double(Self.contextsPerBatch)
    }

    @inline(never) private static func asyncBatch() async -> Double {
        let begin = clb_now_ns()
        for _ in 0..<contextsPerBatch { await withStallContext(name: "GET /orders/:id") { await nothingAsync() } }
        return Double(clb_now_ns() - begin) / Double(contextsPerBatch)
    }
}

@inline(never) private func nothing() {}
@inline(never) private func nothingAsync() async {}
