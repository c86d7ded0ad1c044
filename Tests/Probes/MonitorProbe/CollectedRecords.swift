import LagMonitor
import Synchronization

/// Records that a handler was given.
final class CollectedRecords: Sendable {
    private let content = Mutex<[StallRecord]>([])

    func add(_ record: StallRecord) { content.withLock { $0.append(record) } }
    func clear() { content.withLock { $0 = [] } }
    var records: [StallRecord] { content.withLock { $0 } }
}
