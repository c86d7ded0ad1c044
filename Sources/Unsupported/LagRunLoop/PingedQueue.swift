public import Dispatch
public import LagActivity

/// A dispatch queue that could be watched on Linux.
public final class PingedQueue: PingableLoop, TickingLoop, Sendable {
    public let name: String
    private let queue: DispatchQueue

    public init(_ queue: DispatchQueue, named: String? = nil) {
        self.queue = queue
        name = named ?? (queue.label == DispatchQueue.main.label ? "main" : queue.label.isEmpty ? "queue" : queue.label)
    }

    public var beacon: ActivityBeacon { ActivityBeacon() }
    public var publishesActivity: Bool { false }
    public var thread: ThreadIdentity { .current }
    public func ping() {}

    public func startTicking(every interval: Duration, _ tick: @escaping @Sendable () -> Void) -> (any LoopTicker)? {
        let interval = max(interval, .milliseconds(1))
        return IndependentTimer(after: interval, interval: interval, queue: queue, handler: tick)
    }
}
