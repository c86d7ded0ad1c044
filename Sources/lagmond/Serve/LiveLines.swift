internal import Dispatch
internal import LagMonitor
internal import LagOutput
internal import Synchronization

/// A sink that counts every stall for `/metrics` and hands each line, in the native format, to the clients of `/stalls`.
///
/// It takes every line and never waits: a client that is too slow loses lines, and gets a `dropped` line (``LiveClient``).
final class LiveLines: StallObserver {
    static let maximumClients = 8
    /// So often a client that gets no lines gets an empty one: writing is the only way to notice that it is gone.
    static let heartbeat: DispatchTimeInterval = .seconds(5)

    /// Not kept alive by us: a client is gone when its response is.
    private struct Entry {
        weak var client: LiveClient?
    }

    private struct State {
        var clients: [Entry] = []
        var isOver = false
    }

    let name = "/stalls"
    let format: RecordFormat? = .native
    let counts: StallCounts
    private let context: ProcessContext
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "lagmond.stalls")

    init(counts: StallCounts, context: ProcessContext, heartbeat: DispatchTimeInterval = LiveLines.heartbeat) {
        self.counts = counts
        self.context = context
        scheduleHeartbeat(every: heartbeat)
    }

    private func scheduleHeartbeat(every interval: DispatchTimeInterval) {
        queue.asyncAfter(deadline: .now() + interval) { [weak self] in
            self?.forEachClient { $0.sendHeartbeat() }
            self?.scheduleHeartbeat(every: interval)
        }
    }

    /// nil when there are too many, or the run is over.
    func join(wake: @escaping @Sendable () -> Void) -> LiveClient? {
        state.withLock { state in
            state.clients.removeAll { $0.client == nil }
            guard !state.isOver, state.clients.count < Self.maximumClients else { return nil }
            let client = LiveClient(context: context, wake: wake)
            state.clients.append(Entry(client: client))
            return client
        }
    }

    /// The operator's, for `/metrics`.
    var labels: RecordLabels { context.labels }

    var clients: Int { state.withLock { $0.clients.count { $0.client != nil } } }

    func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        guard state.withLock({ !$0.clients.isEmpty }) else { return }
        let bytes = [UInt8](line)
        forEachClient { $0.take(bytes) }
    }

    func observe(_ stall: LineFacts.Stall) { counts.count(stall, at: StallCounts.LoopKey(loop: stall.loop)) }

    func resume() throws(SinkError) { state.withLock { $0.isOver = false } }

    /// The clients get what is left, and the end.
    func close() {
        state.withLock { $0.isOver = true }
        forEachClient { $0.finish() }
    }

    private func forEachClient(_ body: (LiveClient) -> Void) {
        // Outside of the lock: a client that ends takes it.
        for client in state.withLock({ $0.clients.compactMap(\.client) }) { body(client) }
    }
}
