internal import Dispatch
internal import LagMonitor
internal import LagOutput
internal import Synchronization

/// The handlers of a manual monitor; it knows when they have received everything.
final class ManualHandlers: Sendable {
    private final class Count: Sendable {
        let handled = Atomic<UInt64>(0)
    }

    private struct Entry {
        let handler: StallHandler
        let count: Count
        /// Records that were passed to it.
        var delivered: UInt64 = 0
    }

    private let entries = Mutex<[Entry]>([])

    func make(
        queue: DispatchQueue,
        includesSuppressed: Bool,
        _ body: @escaping @Sendable (StallRecord) -> Void
    ) -> StallHandler {
        let count = Count()
        let handler = StallHandler(queue: queue, includesSuppressed: includesSuppressed) { record in
            body(record)
            count.handled.add(1, ordering: .releasing)
        }
        entries.withLock { $0.append(Entry(handler: handler, count: count)) }
        return handler
    }

    /// A record was passed to all of them or, if a limit held it back, to those that want such records.
    func recordDelivery(isSuppressed: Bool) {
        entries.withLock { entries in
            entries.removeAll { $0.handler.isCancelled }
            for index in entries.indices where entries[index].handler.includesSuppressed || !isSuppressed {
                entries[index].delivered += 1
            }
        }
    }

    /// Whether every handler has returned from every record that was passed to it and that it did not miss.
    var areDone: Bool {
        entries.withLock { entries in
            entries.allSatisfy {
                $0.handler.isCancelled || $0.count.handled.load(ordering: .acquiring) + $0.handler.missed >= $0.delivered
            }
        }
    }
}
