#if ServiceLifecycle && NIO
    public import LagMonitor
    internal import LagMonitorNIO
    public import Logging
    public import NIOCore
    public import NIOPosix

    extension StallMonitorService {
        /// Watches what a server has.
        /// - Parameters:
        ///   - eventLoopGroup: its loops are watched; nil: none. The default is created at its first use.
        ///   - isRequired: whether the group fails if this machine does not permit a monitor.
        ///   - logger: gets a line if no monitor could be started.
        public init(
            _ monitor: StallMonitor,
            eventLoopGroup: (any EventLoopGroup)? = MultiThreadedEventLoopGroup.singleton,
            isRequired: Bool = false,
            logger: Logger = Logger(label: "LagMonitor")
        ) {
            let watch = eventLoopGroup.map { group in
                { @Sendable (monitor: StallMonitor) in _ = try monitor.watch(group, rules: .heartbeat) }
            }
            self.init(monitor, watching: .server(eventLoops: watch), isRequired: isRequired, logger: logger)
        }
    }
#elseif ServiceLifecycle
    public import LagMonitor
    public import Logging

    extension StallMonitorService {
        /// Watches what a server has; event loops of SwiftNIO only with the trait `NIO`.
        /// - Parameters:
        ///   - isRequired: whether the group fails if this machine does not permit a monitor.
        ///   - logger: gets a line if no monitor could be started.
        public init(_ monitor: StallMonitor, isRequired: Bool = false, logger: Logger = Logger(label: "LagMonitor")) {
            self.init(monitor, watching: .server(eventLoops: nil), isRequired: isRequired, logger: logger)
        }
    }
#endif
