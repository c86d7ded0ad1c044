#if ServiceLifecycle
    internal import Dispatch
    public import LagMonitor
    internal import LagMonitorConcurrency
    public import Logging
    public import ServiceLifecycle

    /// A monitor as a service: it starts with the group, and writes its pending lines when the group shuts down.
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
    /// ``StallReportService`` last, so that a stall in progress has its line before they end.
    ///
    /// It watches what a server has:
    /// - the main queue, and with it the main actor and the main loop, from its first answer on (`main`): in a program in which
    ///   nothing serves it, it is not watched;
    /// - the threads that run tasks of the priorities `high` and `medium`, one by one (`pool.high`, `pool.medium`): a handler
    ///   that blocks its thread is found even while others are free. If this Swift runtime does not support that, the pools as a
    ///   whole, by pings;
    /// - with the trait `NIO`, the event loops (`nio-0`, …).
    ///
    /// Or only given loops (``init(_:watching:rules:isRequired:logger:)``). Others may be added to the monitor at any time.
    ///
    /// A server does not fail if its monitor cannot start: if this machine does not permit one (libunwind is missing, a sandbox
    /// forbids reading the process's own memory, there is no thread or memory), the service logs an error, watches nothing, and
    /// runs until the group shuts down.
    public struct StallMonitorService: Service {
        enum Watched: Sendable {
            /// The loops of a server.
            /// - Parameter eventLoops: watches its event loops; it may wait for a busy one.
            case server(eventLoops: (@Sendable (StallMonitor) throws -> Void)?)
            /// Only these loops.
            case loops([any ObservableLoop], StallRules?)
        }

        public let monitor: StallMonitor
        private let watched: Watched
        private let isRequired: Bool
        private let logger: Logger
        /// For tests, which cannot remove libunwind.
        var start: @Sendable (StallMonitor) throws -> Void = { try $0.start() }

        init(_ monitor: StallMonitor, watching watched: Watched, isRequired: Bool, logger: Logger) {
            self.monitor = monitor
            self.watched = watched
            self.isRequired = isRequired
            self.logger = logger
        }

        /// Watches only these loops.
        /// - Parameters:
        ///   - loops: watched from the start.
        ///   - rules: for these loops; the monitor's own when nil.
        ///   - isRequired: whether the group fails if this machine does not permit a monitor.
        ///   - logger: gets a line if no monitor could be started.
        public init(
            _ monitor: StallMonitor,
            watching loops: [any ObservableLoop],
            rules: StallRules? = nil,
            isRequired: Bool = false,
            logger: Logger = Logger(label: "LagMonitor")
        ) { self.init(monitor, watching: .loops(loops, rules), isRequired: isRequired, logger: logger) }

        /// Runs until the group shuts down or the task is cancelled. Then stalls in progress become `abandoned` lines, pending
        /// lines are written (``StallMonitor/stop()``), and only then it returns.
        /// - Throws: ``StallMonitor/StallMonitorError`` if a setting is wrong or a loop cannot be watched, and, if the monitor is
        ///   required, if it cannot start; nothing runs then.
        public func run() async throws {
            let run = ServiceRun()
            do {
                try start(monitor)
                switch watched {
                case .server(let eventLoops): try await watchServer(run, eventLoops)
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

        private func watchServer(
            _ run: ServiceRun,
            _ watchEventLoops: (@Sendable (StallMonitor) throws -> Void)?
        ) async throws {
            do throws(StallMonitorError) {
                try monitor.watchConcurrencyPool()
            } catch {
                guard case .ruleNotPossible = error else { throw error }
                try monitor.watchConcurrencyPool(rules: .pings)
            }
            if let watchEventLoops { try await run.perform { [monitor] in try watchEventLoops(monitor) } }
            // A queue that nothing serves would seem to hang forever.
            run.whenMainAnswers { [weak monitor, logger] in
                do throws(StallMonitorError) {
                    try monitor?.watch(PingedQueue(.main), rules: .heartbeat)
                } catch {
                    // Other code may have stopped it.
                    if case .notRunning = error { return }
                    logger.error("the main queue is not watched: \(error)")
                }
            }
        }
    }

    extension StallMonitorError {
        /// Whether the same program would start on another machine.
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
