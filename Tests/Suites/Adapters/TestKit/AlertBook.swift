import Dispatch
import LagMonitor
import Synchronization

/// A minimal handler of a user, to be tested with the kit. Also the example in the documentation.
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
