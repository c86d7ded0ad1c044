#if NIO
    public import LagMonitor
    public import NIOCore

    /// An event loop that could be watched on Linux.
    public final class NIOLoop: PingableLoop {
        public let name: String
        public let eventLoop: any EventLoop

        package init(_ eventLoop: any EventLoop, named name: String) {
            self.eventLoop = eventLoop
            self.name = name
        }

        public var beacon: ActivityBeacon { ActivityBeacon() }
        public var thread: ThreadIdentity { .current }
        public var publishesActivity: Bool { false }
        public func ping() {}
        public var heartbeats: UInt64 { 0 }
        public var detectsIdleness: Bool { false }
        var isReady: Bool { true }
        func waitBriefly() {}
    }
#endif
