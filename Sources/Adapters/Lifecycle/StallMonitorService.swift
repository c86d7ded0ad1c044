#if ServiceLifecycle
    internal import Dispatch
    public import LagMonitor
    internal import LagMonitorConcurrency
    public import Logging
    #if NIO
        internal import LagMonitorNIO
        public import NIOCore
        public import NIOPosix
    #endif
    public import ServiceLifecycle

    /// A monitor as a service: it starts with the group, and drains when the group shuts down.
    ///
    /// ```swift
    /// import LagMonitor
    /// import LagMonitorLifecycle
    /// import ServiceLifecycle
    /// import UnixSignals
    ///
    /// let group = ServiceGroup(
    ///     services: [StallMonitorService(monitor), server],
    ///     gracefulShutdownSignals: [.sigterm],
    ///     logger: logger
    /// )
    /// try await group.run()
    /// ```
    /// Services shut down in the reverse of the group's order: put it first, so that it still watches while the others end, and
    /// ``StallReportService`` last, so that a stall in progress has its line before they do.
    ///
    /// It watches what a server has:
    /// - the main queue, and so the main actor and the main loop, from the first time that it answers (`main`): in a program in which nothing serves it,
    ///   it is not watched;
    /// - the threads that run tasks of the priorities `high` and `medium`, one by one (`pool.high`, `pool.medium`): a handler that blocks its thread is found
    ///   also while others are free. Where this Swift runtime does not let that be known, the pools as such, by pings;
    /// - with the trait `NIO`, the event loops (`nio-0`, …).
    ///
    /// Or just the loops that it is given (``init(_:watching:rules:isRequired:logger:)``). Others may be added to the monitor at any time.
    ///
    /// A server does not go down for want of its monitor: where this machine does not allow one (libunwind is missing, a sandbox forbids to read
    /// the process's own memory, there is no thread or memory), the service logs an error, watches nothing, and lasts until the group shuts down.
    public struct StallMonitorService: Service {
        private enum Watched: Sendable {
            /// Those that a server has.
            case server
            /// Just these.
            case loops([any ObservableLoop], StallRules?)
        }

        public let monitor: StallMonitor
        private let watched: Watched
        private let isRequired: Bool
        private let logger: Logger
        /// For tests, which cannot take libunwind away.
        var start: @Sendable (StallMonitor) throws -> Void = { try $0.start() }
        #if NIO
            private let eventLoopGroup: (any EventLoopGroup)?

            /// Watches what a server has.
            /// - Parameters:
            ///   - eventLoopGroup: whose loops are watched; nil: none. The default is made when it is first used.
            ///   - isRequired: whether the group fails where this machine does not allow a monitor.
            ///   - logger: gets a line where no monitor could be started.
            public init(
                _ monitor: StallMonitor,
                eventLoopGroup: (any EventLoopGroup)? = MultiThreadedEventLoopGroup.singleton,
                isRequired: Bool = false,
                logger: Logger = Logger(label: "LagMonitor")
            ) {
                self.monitor = monitor
                self.eventLoopGroup = eventLoopGroup
                self.isRequired = isRequired
                self.logger = logger
                watched = .server
            }
        #else
            /// Watches what a server has; event loops of SwiftNIO with the trait `NIO` alone.
            /// - Parameters:
            ///   - isRequired: whether the group fails where this machine does not allow a monitor.
            ///   - logger: gets a line where no monitor could be started.
            public init(_ monitor: StallMonitor, isRequired: Bool = false, logger: Logger = Logger(label: "LagMonitor")) {
                self.monitor = monitor
                self.isRequired = isRequired
                self.logger = logger
                watched = .server
            }
        #endif

        /// Watches nothing but these loops.
        /// - Parameters:
        ///   - loops: watched from the start.
        ///   - rules: for these loops; the monitor's own when nil.
        ///   - isRequired: whether the group fails where this machine does not allow a monitor.
        ///   - logger: gets a line where no monitor could be started.
        public init(
            _ monitor: StallMonitor,
            watching loops: [any ObservableLoop],
            rules: StallRules? = nil,
            isRequired: Bool = false,
            logger: Logger = Logger(label: "LagMonitor")
        ) {
            self.monitor = monitor
            self.isRequired = isRequired
            self.logger = logger
            watched = .loops(loops, rules)
            #if NIO
                eventLoopGroup = nil
            #endif
        }

        /// Runs until the group shuts down or the task is cancelled; then stalls in progress become `abandoned` lines and what is on its
        /// way is written (``StallMonitor/stop()``), and only then does it return.
        /// - Throws: ``StallMonitor/StallMonitorError`` when a setting is wrong or a loop cannot be watched, and, where the monitor is required, when
        ///   it cannot start; nothing runs then.
        public func run() async throws {
            let run = ServiceRun()
            do {
                try start(monitor)
                switch watched {
                case .server: try await watchServer(run)
                case .loops(let loops, let rules): for loop in loops { try monitor.watch(loop, rules: rules) }
                }
            } catch let error as StallMonitorError where !isRequired && error.isOfThisMachine {
                await run.end { [monitor] in monitor.stop() }
                logger.error("no stall will be found: \(error)")
            } catch {
                await run.end { [monitor] in monitor.stop() }
                throw error
            }
            // A cancelled task ends in the same order as a graceful shutdown.
            try? await gracefulShutdown()
            await run.end { [monitor] in monitor.stop() }
        }

        private func watchServer(_ run: ServiceRun) async throws {
            do throws(StallMonitorError) {
                try monitor.watchConcurrencyPool()
            } catch {
                guard case .ruleNotPossible = error else { throw error }
                try monitor.watchConcurrencyPool(rules: .pings)
            }
            #if NIO
                if let eventLoopGroup {
                    // It may wait for a loop that is busy.
                    try await run.perform { [monitor] in _ = try monitor.watch(eventLoopGroup, rules: .heartbeat) }
                }
            #endif
            // A queue that nothing serves would seem to hang for good.
            run.whenMainAnswers { [weak monitor, logger] in
                do throws(StallMonitorError) {
                    try monitor?.watch(PingedQueue(.main), rules: .heartbeat)
                } catch {
                    // Somebody else may have stopped it.
                    if case .notRunning = error { return }
                    logger.error("the main queue is not watched: \(error)")
                }
            }
        }
    }

    extension StallMonitorError {
        /// Whether the same program would start elsewhere.
        fileprivate var isOfThisMachine: Bool {
            switch self {
            case .captureUnavailable, .resources: true
            case .invalidConfiguration, .sinkUnavailable, .tooManyLoops, .ruleNotPossible, .notRunning: false
            }
        }
    }
#else
    public import LagMonitor

    @available(
        *,
        unavailable,
        message: "turn on the trait 'ServiceLifecycle' of the package LagMonitor: traits: [\"ServiceLifecycle\"]"
    )
    public struct StallMonitorService {
        public let monitor: StallMonitor

        public init(_ monitor: StallMonitor, eventLoopGroup: Any? = nil, isRequired: Bool = false, logger: Any? = nil) {
            self.monitor = monitor
        }

        public init(
            _ monitor: StallMonitor,
            watching loops: [any ObservableLoop],
            rules: StallRules? = nil,
            isRequired: Bool = false,
            logger: Any? = nil
        ) { self.monitor = monitor }
    }
#endif
