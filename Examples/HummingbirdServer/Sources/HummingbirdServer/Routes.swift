import Hummingbird
import LagMonitor
import LagMonitorHummingbird

/// The server's six routes. Four of them contain a mistake that makes other requests or tasks wait.
struct Routes: Sendable {
    let reports: ReportStore
    let orders: OrderDatabase
    let totals: Totals

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.add(middleware: StallContextMiddleware())
        router.get("hello") { _, _ in "hello" }
        // A future's callback runs on the future's event loop, wherever the handler runs: all connections of that loop wait.
        router.get("report") { _, _ in try await reports.rows().map { renderReport($0) }.get() }
        // The handler itself computes. It occupies one of the pool's few threads, or an event loop, if handlers run there.
        router.get("digest") { _, _ in "\(computeDigest())" }
        // The handler calls a database whose client blocks, so the handler's thread waits for the answer.
        router.get("orders") { _, _ in "\(try orders.count())" }
        // The handler awaits, so its thread can run other tasks meanwhile.
        router.get("patient") { _, _ in
            try await Task.sleep(for: .milliseconds(400))
            return "patient"
        }
        // The main actor is blocked: everything else that is isolated to it waits.
        router.get("totals") { _, _ in "\(await totals.sum())" }
        return router
    }
}

@inline(never) func renderReport(_ rows: [Int]) -> String {
    let end = MonotonicTime.now + .milliseconds(400)
    var text = ""
    while MonotonicTime.now < end { text = rows.map { "\($0 * $0)" }.joined(separator: ",") }
    return text
}

@inline(never) func computeDigest() -> UInt64 {
    let end = MonotonicTime.now + .milliseconds(400)
    var digest: UInt64 = 14_695_981_039_346_656_037
    while MonotonicTime.now < end { digest = (digest ^ 0x2f) &* 1_099_511_628_211 }
    return digest
}
