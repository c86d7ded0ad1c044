public import LagMonitor

/// The threads of Swift's tasks at one priority, which could be watched on Linux.
public final class ConcurrencyPool: PingableLoop, ThreadPoolLoop, Sendable {
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
    public func findWorkers(_ tids: UnsafeMutableBufferPointer<Int32>) -> Int { 0 }
    public var workFunction: UInt64 { 0 }
}
