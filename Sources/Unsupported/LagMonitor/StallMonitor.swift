public import Dispatch
internal import Foundation
@_exported public import LagActivity
internal import LagModel
@_exported public import LagOutput
@_exported public import LagRunLoop

// Cross-compiling on another system would otherwise silently give a monitor that finds nothing.
#if os(Linux) && !LAGMONITOR_UNSUPPORTED
    #error("built on another system: set LAGMONITOR_UNSUPPORTED to 0 to find stalls, or to 1 for a package that does nothing")
#endif

/// A monitor that finds nothing: stalls are only found on Linux with glibc. It starts and stops, checks its configuration, and
/// reports once that it does nothing.
public final class StallMonitor: Sendable {
    /// Whether this build can find stalls. False: not on this platform.
    public static let isSupported = false

    public static let shared = StallMonitor()

    public let configuration: StallMonitorConfiguration
    private let running = PthreadMutex(false)
    private let subscriptions = StallSubscriptions()
    private static let hasWarned = PthreadMutex(false)

    public init(configuration: StallMonitorConfiguration = .init(), sinks: [any RecordSink] = []) {
        self.configuration = configuration
    }

    deinit { subscriptions.finish() }

    public var isRunning: Bool { running.withLock { $0 } }

    /// - Throws: ``StallMonitorError/invalidConfiguration(key:value:allowed:)``, as on Linux.
    public func start() throws(StallMonitorError) {
        try configuration.validate()
        Self.warn()
        running.withLock { $0 = true }
    }

    /// Writes one line to stderr, once per process.
    static func warn() {
        let isFirst = hasWarned.withLock { hasWarned in
            defer { hasWarned = true }
            return !hasWarned
        }
        guard isFirst else { return }
        let line = "lagmonitor: no stalls will be found: this platform is not supported (Linux with glibc is)\n"
        FileHandle.standardError.write(Data(line.utf8))
    }

    public func stop() {
        running.withLock { $0 = false }
        subscriptions.finish()
    }

    /// - Throws: ``StallMonitorError/notRunning``, and errors in the rules.
    public func watch(
        _ loop: any ObservableLoop,
        named name: String? = nil,
        rules: StallRules? = nil
    ) throws(StallMonitorError) {
        try rules?.validate()
        guard isRunning else { throw .notRunning }
    }

    /// - Throws: errors in the rules.
    package func watchFromStart(_ loop: any ObservableLoop, rules: StallRules) throws(StallMonitorError) { try rules.validate() }

    public func pause(_ loop: (any ObservableLoop)? = nil) {}

    public func resume(_ loop: (any ObservableLoop)? = nil) {}

    /// Runs `body`.
    @discardableResult
    public static func expectingBlock<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result { try body() }

    public func frameRate(of loop: any ObservableLoop) -> Double? { nil }

    public func unwatch(_ loop: any ObservableLoop) {}

    public func reportStallsInProgress() {}

    @discardableResult
    public func onStall(queue: DispatchQueue, _ handler: @escaping @Sendable (StallRecord) -> Void) -> StallHandler {
        StallHandler()
    }

    @discardableResult
    public func onStall(
        queue: DispatchQueue,
        includesSuppressed: Bool,
        _ handler: @escaping @Sendable (StallRecord) -> Void
    ) -> StallHandler { StallHandler() }

    public var stalls: StallSequence { StallSequence(subscriptions) }

    public func reopenSinks() {}

    /// All zero.
    public var statistics: StallMonitorStatistics { StallMonitorStatistics() }
}

extension StallMonitor {
    /// Nil. Reports that nothing is monitored if `LAGMONITOR_OUTPUT_PATH` is set.
    @discardableResult
    public static func startFromEnvironment(watching loops: [any ObservableLoop] = [ObservedRunLoop.main]) -> StallMonitor? {
        let path = ProcessInfo.processInfo.environment[SettingKey.output.environmentName] ?? ""
        if !path.isEmpty { warn() }
        return nil
    }
}

/// The result of ``StallMonitor/onStall(queue:_:)``. Nothing is delivered.
public final class StallHandler: Sendable {
    public static let capacity = 256

    package init() {}

    public var missed: UInt64 { 0 }
    public func cancel() {}
}

extension ObservableLoop {
    package var knownLagNanoseconds: UInt64? { nil }
}
