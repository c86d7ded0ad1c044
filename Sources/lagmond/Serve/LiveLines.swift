internal import LagMonitor
internal import LagOutput
internal import Synchronization

/// A sink that counts every stall for `/metrics` and passes each line, in the native format, to the clients of `/stalls`.
///
/// It takes every line and never waits: a client that is too slow loses lines, and gets a `dropped` line (``LiveClient``).
final class LiveLines: StallObserver {
    static let maximumClients = 8

    /// A weak reference: a client is gone when its response is.
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

    init(counts: StallCounts, context: ProcessContext) {
        self.counts = counts
        self.context = context
    }

    /// An empty line for each client that waits: writing is the only way to notice that one is gone.
    func sendHeartbeats() { forEachClient { $0.sendHeartbeat() } }

    /// nil if there are too many clients, or the run is over.
    func join(wake: @escaping @Sendable () -> Void) -> LiveClient? {
        state.withLock { state in
            state.clients.removeAll { $0.client == nil }
            guard !state.isOver, state.clients.count < Self.maximumClients else { return nil }
            let client = LiveClient(context: context, wake: wake)
            state.clients.append(Entry(client: client))
            return client
        }
    }

    /// The operator's labels, for `/metrics`.
    var labels: RecordLabels { context.labels }

    var clients: Int { state.withLock { $0.clients.count { $0.client != nil } } }

    func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        guard state.withLock({ !$0.clients.isEmpty }) else { return }
        let bytes = [UInt8](line)
        forEachClient { $0.take(bytes) }
    }

    func observe(_ stall: LineFacts.Stall) { counts.count(stall, at: StallCounts.LoopKey(loop: stall.loop)) }

    func resume() throws(SinkError) { state.withLock { $0.isOver = false } }

    /// The clients get the remaining lines, then the end.
    func close() {
        state.withLock { $0.isOver = true }
        forEachClient { $0.finish() }
    }

    private func forEachClient(_ body: (LiveClient) -> Void) {
        // Outside the lock, because a client that ends takes it.
        for client in state.withLock({ $0.clients.compactMap(\.client) }) { body(client) }
    }
}
