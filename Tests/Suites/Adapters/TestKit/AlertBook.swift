import Dispatch
import LagMonitor
import Synchronization

/// A user's own handling, as small as it gets: what the kit is there to test. Also the example of the documentation.
final class AlertBook: Sendable {
    private let lines = Mutex<[String]>([])

    init(_ stalls: some StallSource) {
        stalls.onStall(queue: DispatchQueue(label: "alerts")) { [weak self] record in
            guard record.phase == .end, record.severity != .warning else { return }
            self?.lines.withLock { $0.append("\(record.loop): \(record.cause.rawValue) in \(record.culprit ?? "?")") }
        }
    }

    var titles: [String] { lines.withLock { $0 } }
}
