import LagMonitor
import Synchronization

/// Records delivered to a handler.
public final class CollectedRecords: Sendable {
    private let content = Mutex<[StallRecord]>([])

    public init() {}

    public func add(_ record: StallRecord) { content.withLock { $0.append(record) } }
    public func clear() { content.withLock { $0 = [] } }
    public var records: [StallRecord] { content.withLock { $0 } }
}
