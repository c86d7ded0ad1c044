internal import LagModel
internal import LagOutput

/// Receivers of stall records other than sinks: the program's handlers, and the sinks that count. Handlers are added on any
/// thread; the rest is used on the reporter's.
final class RecordHandlers: Sendable {
    private let handlers = PthreadMutex<[StallHandler]>([])
    private let observers: [any StallObserver]

    init(_ sinks: [any RecordSink]) { observers = sinks.compactMap { $0 as? any StallObserver } }

    func add(_ handler: StallHandler) {
        handlers.withLock { handlers in
            handlers.removeAll { $0.isCancelled }
            handlers.append(handler)
        }
    }

    /// - Parameter isSuppressed: a limit held its line back.
    func deliver(_ record: StallRecord, isSuppressed: Bool = false) {
        for handler in handlers.withLock({ $0 }) where handler.includesSuppressed || !isSuppressed { handler.deliver(record) }
    }

    func observe(_ record: StallRecord) {
        guard !observers.isEmpty, let stall = LineFacts(record).stall else { return }
        for observer in observers { observer.observe(stall) }
    }
}
