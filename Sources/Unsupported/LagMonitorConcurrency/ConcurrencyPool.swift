public import LagMonitor

/// The threads of Swift's tasks at one priority, which could be watched on Linux.
public final class ConcurrencyPool: PingableLoop, Sendable {
    public let name: String
    public let priority: TaskPriority

    public init(_ priority: TaskPriority = .medium, named: String? = nil) {
        self.priority = priority
        name = named ?? "pool.\(priority.rawValue)"
    }

    public var beacon: ActivityBeacon { ActivityBeacon() }
    public var thread: ThreadIdentity { .current }
    public var publishesActivity: Bool { false }
    public func ping() {}
}
