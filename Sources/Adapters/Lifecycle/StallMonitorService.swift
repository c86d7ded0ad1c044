#if ServiceLifecycle
    internal import Dispatch
    public import LagMonitor
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
    /// Watches nothing by itself but the loops that it is given; others may be added to the monitor while it runs.
    public struct StallMonitorService: Service {
        public let monitor: StallMonitor
        private let loops: [any ObservableLoop]
        private let rules: StallRules?

        /// - Parameters:
        ///   - loops: watched from the start.
        ///   - rules: for these loops; the monitor's own when nil.
        public init(_ monitor: StallMonitor, watching loops: [any ObservableLoop] = [], rules: StallRules? = nil) {
            self.monitor = monitor
            self.loops = loops
            self.rules = rules
        }

        /// Runs until the group shuts down or the task is cancelled; then stalls in progress become `abandoned` lines and what is on its
        /// way is written (``StallMonitor/stop()``), and only then does it return.
        /// - Throws: ``StallMonitor/StallMonitorError`` when the monitor cannot start or a loop cannot be watched; nothing runs then.
        public func run() async throws {
            do {
                try monitor.start()
                for loop in loops { try monitor.watch(loop, rules: rules) }
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
#else
    @available(
        *,
        unavailable,
        message: "turn on the trait 'ServiceLifecycle' of the package LagMonitor: traits: [\"ServiceLifecycle\"]"
    )
    public struct StallMonitorService {}
#endif
