import Dispatch
import Foundation
import LagMonitor
import LagMonitorConcurrency

/// Contexts of stalls whose truth is known: the running one is named, and waiting ones are not.
enum Contexts {
    static func check() {
        runInTask {
            let sink = CollectedStalls()
            var configuration = StallMonitorConfiguration()
            configuration.contexts = .redacted { name, value in
                switch name {
                case "secret": nil
                case "user": "…\(value.suffix(2))"
                default: value
                }
            }
            let monitor = StallMonitor(configuration: configuration)
            monitor.onStall(queue: .global()) { sink.add($0) }
            try monitor.watchConcurrencyPool([.high, .medium])
            try monitor.start()
            // Two requests that wait all the time.
            let parked = [park("GET /parked/1"), park("GET /parked/2")]
            try await Task.sleep(for: .milliseconds(50))
            let truth = StallTrace(traceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

            var record = try await stall(sink, monitor) {
                await withStallContext(name: "GET /orders/:id", ["tenant": "a", "secret": "x", "user": "somebody"], trace: truth)
                {
                    await pause()
                    blockHere()
                }
            }
            expect(record, running: "GET /orders/:id", open: ["GET /parked/1", "GET /parked/2"], "async")
            guard record.traceID == "0af7651916cd43dd8448eb211c80319c", record.spanID == "b7ad6b7169203331" else {
                FoundationProbe.fail("trace: \(record)")
            }
            guard record.request?.attributes.map({ "\($0.name)=\($0.value)" }) == ["tenant=a", "user=…dy"] else {
                FoundationProbe.fail("attributes: \(record)")
            }
            record = try await stall(sink, monitor) { blockSynchronously() }
            expect(record, running: "sync", open: ["GET /parked/1", "GET /parked/2"], "sync")
            record = try await stall(sink, monitor) {
                await withStallContext(name: "outer", trace: truth) {
                    await pause()
                    await withStallContext(name: "inner") {
                        await pause()
                        blockHere()
                    }
                }
            }
            expect(record, running: "inner", open: ["GET /parked/1", "GET /parked/2"], "nested", isTraced: true)
            record = try await stall(sink, monitor) {
                await withStallContext(name: "outer") {
                    await withStallContext(name: "inner") { await pause() }
                    blockHere()
                }
            }
            expect(record, running: "outer", open: ["GET /parked/1", "GET /parked/2"], "after the inner one")
            // Children, and tasks that are created within.
            record = try await stall(sink, monitor) {
                await withStallContext(name: "parent") {
                    async let child: Void = blockLater()
                    await child
                }
            }
            expect(record, running: "parent", open: ["GET /parked/1", "GET /parked/2"], "async let")
            record = try await stall(sink, monitor) {
                await withStallContext(name: "group") {
                    await withTaskGroup(of: Void.self) { group in group.addTask { await blockLater() } }
                }
            }
            expect(record, running: "group", open: ["GET /parked/1", "GET /parked/2"], "group")
            record = try await stall(sink, monitor) {
                await withStallContext(name: "unstructured") { await Task { await blockLater() }.value }
            }
            expect(record, running: "unstructured", open: ["GET /parked/1", "GET /parked/2"], "unstructured")
            // A context around the running one does not wait, whichever task created it.
            record = try await stall(sink, monitor) {
                await withStallContext(name: "outer", trace: truth) {
                    async let child: Void = withStallContext(name: "child") { await blockLater() }
                    await child
                }
            }
            expect(record, running: "child", open: ["GET /parked/1", "GET /parked/2"], "around a child", isTraced: true)
            record = try await stall(sink, monitor) {
                await withStallContext(name: "outer") {
                    await withStallContext(name: "middle") {
                        await withTaskGroup(of: Void.self) { group in
                            group.addTask {
                                await pause()
                                blockSynchronously()
                            }
                        }
                    }
                }
            }
            expect(record, running: "sync", open: ["GET /parked/1", "GET /parked/2"], "around a call of a child")
            // Work without a context has none, whatever else is open.
            record = try await stall(sink, monitor) { blockHere() }
            expect(record, running: nil, open: ["GET /parked/1", "GET /parked/2"], "none")
            record = try await stall(sink, monitor) {
                let task = await withStallContext(name: "over") {
                    await pause()
                    return Task {
                        await pause()
                        await pause()
                        blockHere()
                    }
                }
                await task.value
            }
            expect(record, running: nil, open: ["GET /parked/1", "GET /parked/2"], "a context that is over")
            record = try await stall(sink, monitor) {
                await withStallContext(name: "waits") { await Task.detached { blockHere() }.value }
            }
            expect(record, running: nil, open: nil, "detached")
            for task in parked { task.cancel() }
            monitor.stop()
            blockSynchronously()
        }
    }

    private static func park(_ name: String) -> Task<Void, Never> {
        Task.detached { await withStallContext(name: name) { try? await Task.sleep(for: .seconds(600)) } }
    }

    private static func blockSynchronously() { withStallContext(name: "sync") { blockHere() } }

    private static func pause() async { try? await Task.sleep(for: .milliseconds(5)) }

    private static func blockLater() async {
        await pause()
        blockHere()
    }

    private static func stall(_ sink: CollectedStalls, _ monitor: StallMonitor, _ body: @escaping @Sendable () async -> Void)
        async throws -> StallRecord
    {
        let record = try await sink.record(
            of: { await Task.detached(name: "stalling", priority: .medium) { await body() }.value },
            by: monitor
        )
        guard let record else { FoundationProbe.fail("no stall") }
        return record
    }

    /// - Parameter open: nil: any number of any contexts.
    private static func expect(
        _ record: StallRecord,
        running: String?,
        open: [String]?,
        _ what: String,
        isTraced: Bool = false
    ) {
        let found = record.requestsOpen.map(\.name)
        print(
            "context=\"\(what)\" running=\(record.request?.name ?? "-") open=\(found) task=\(record.task?.name ?? "-"): \(record.message)"
        )
        if record.request?.name != running {
            FoundationProbe.fail("\(what): \(record.request?.name ?? "-") and not \(running ?? "-")")
        }
        // Tasks that are created one after the other may begin in any order.
        if let open, found.sorted() != open { FoundationProbe.fail("\(what): \(found) are open, and not \(open)") }
        if let request = record.request, request.open.map({ $0 < .milliseconds(200) }) ?? true {
            FoundationProbe.fail("\(what): open for \(request.open, default: "-")")
        }
        if isTraced, record.traceID != "0af7651916cd43dd8448eb211c80319c" || record.spanID != "b7ad6b7169203331" {
            FoundationProbe.fail("\(what): trace \(record.traceID ?? "-"), span \(record.spanID ?? "-")")
        }
        if record.requestsOpen.contains(where: { $0.running }) { FoundationProbe.fail("\(what): an open one is running") }
    }
}
