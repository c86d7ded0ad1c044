#if ServiceLifecycle
    public import LagMonitor
    public import ServiceLifecycle

    /// Reports stalls in progress when a service group begins to shut down: the evidence before a liveness kill, even for a hang
    /// that is too short so far to have a line.
    ///
    /// ```swift
    /// import LagMonitor
    /// import LagMonitorLifecycle
    /// import ServiceLifecycle
    /// import UnixSignals
    ///
    /// let group = ServiceGroup(
    ///     services: [StallMonitorService(monitor), server, StallReportService(monitor)],
    ///     gracefulShutdownSignals: [.sigterm],
    ///     logger: logger
    /// )
    /// ```
    /// A group ends its services in reverse order, one after the other, and waits for each: a service that hangs prevents those
    /// before it from being notified of the shutdown. So put this one last. It delays nothing.
    public struct StallReportService: Service {
        public let monitor: StallMonitor

        /// - Parameter monitor: must be run by a ``StallMonitorService``.
        public init(_ monitor: StallMonitor) { self.monitor = monitor }

        /// Waits for the shutdown, or the task's cancellation; then requests the lines
        /// (``StallMonitor/reportStallsInProgress()``) and returns.
        public func run() async throws {
            try? await gracefulShutdown()
            monitor.reportStallsInProgress()
        }
    }
#else
    public import LagMonitor

    @available(
        *,
        unavailable,
        message: "turn on the trait 'ServiceLifecycle' of the package LagMonitor: traits: [\"ServiceLifecycle\"]"
    )
    public struct StallReportService {
        public let monitor: StallMonitor

        public init(_ monitor: StallMonitor) { self.monitor = monitor }
    }
#endif
