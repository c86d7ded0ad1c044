#if ServiceLifecycle
    internal import Dispatch
    public import LagMonitor
    public import Logging
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
    /// Services shut down in the reverse of the group's order: put it first, so that it still watches while the others end.
    /// Watches nothing by itself but the loops that it is given; others may be added to the monitor while it runs.
    ///
    /// A server does not go down for want of its monitor: where this machine does not allow one (libunwind is missing, a sandbox forbids to read
    /// the process's own memory, there is no thread or memory), the service logs an error, watches nothing, and lasts until the group shuts down.
    public struct StallMonitorService: Service {
        public let monitor: StallMonitor
        private let loops: [any ObservableLoop]
        private let rules: StallRules?
        private let isRequired: Bool
        private let logger: Logger
        /// For tests, which cannot take libunwind away.
        var start: @Sendable (StallMonitor) throws -> Void = { try $0.start() }

        /// - Parameters:
        ///   - loops: watched from the start.
        ///   - rules: for these loops; the monitor's own when nil.
        ///   - isRequired: whether the group fails where this machine does not allow a monitor.
        ///   - logger: where it is said that there is none.
        public init(
            _ monitor: StallMonitor,
            watching loops: [any ObservableLoop] = [],
            rules: StallRules? = nil,
            isRequired: Bool = false,
            logger: Logger = Logger(label: "LagMonitor")
        ) {
            self.monitor = monitor
            self.loops = loops
            self.rules = rules
            self.isRequired = isRequired
            self.logger = logger
        }

        /// Runs until the group shuts down or the task is cancelled; then stalls in progress become `abandoned` lines and what is on its
        /// way is written (``StallMonitor/stop()``), and only then does it return.
        /// - Throws: ``StallMonitor/StallMonitorError`` when a setting is wrong or a loop cannot be watched, and, where the monitor is required, when
        ///   it cannot start; nothing runs then.
        public func run() async throws {
            do {
                try start(monitor)
                for loop in loops { try monitor.watch(loop, rules: rules) }
            } catch let error as StallMonitorError where !isRequired && error.isOfThisMachine {
                await stop()
                logger.error("no stall will be found: \(error)")
            } catch {
                await stop()
                throw error
            }
            // A cancelled task ends in the same order as a graceful shutdown.
            try? await gracefulShutdown()
            await stop()
        }

        /// It may wait for a second, which no thread of the concurrency pool has to spare.
        private func stop() async {
            await withCheckedContinuation { continuation in
                DispatchQueue(label: "LagMonitor.stop").async { [monitor] in
                    monitor.stop()
                    continuation.resume()
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

        public init(
            _ monitor: StallMonitor,
            watching loops: [any ObservableLoop] = [],
            rules: StallRules? = nil,
            isRequired: Bool = false,
            logger: Any? = nil
        ) { self.monitor = monitor }
    }
#endif
