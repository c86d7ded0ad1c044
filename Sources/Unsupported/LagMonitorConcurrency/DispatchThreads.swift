public import LagMonitor

/// The threads on which Dispatch runs blocks, which could be watched on Linux.
public final class DispatchThreads: ObservableLoop, Sendable {
    public let name: String
    public let beacon = ActivityBeacon()

    public init(threadName: String = "-qos.overcommit", named: String = "queues") { name = named }

    public var thread: ThreadIdentity { .current }
    public var publishesActivity: Bool { false }
}
