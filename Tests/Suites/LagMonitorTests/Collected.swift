import LagMonitor
import Synchronization

/// Records that a handler was given.
final class Collected: Sendable {
    private let content = Mutex<[StallRecord]>([])

    func add(_ record: StallRecord) { content.withLock { $0.append(record) } }
    var records: [StallRecord] { content.withLock { $0 } }
}
