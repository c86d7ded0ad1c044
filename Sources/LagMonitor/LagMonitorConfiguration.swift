internal import LagDetection
internal import LagReport

/// How a monitor decides and what it writes.
///
/// A stall is a stretch of work of at least ``interval`` × ``consecutiveTimeouts`` (``threshold``): the watchdog waits
/// one interval at a time, and that many waits in a row ended without the loop having moved on.
public struct LagMonitorConfiguration: Sendable, Equatable {
    /// Length of one wait; 1 ms to 60 s.
    public var interval: Duration = .milliseconds(50)
    /// Timeouts in a row that make a stall; 1 to 1000.
    public var consecutiveTimeouts = 3
    /// After a reported stall, further ones are counted as suppressed for so long; zero: each is reported. At most one hour.
    public var restoreInterval: Duration = .zero
    /// A stall that lasts so long is told while it lasts, by a `begin` line; zero: at detection. At most one hour.
    public var hangAfter: Duration = .milliseconds(5000)
    /// The longest line in bytes, newline included; 1024 to 1,048,576.
    public var maxLineBytes = 8000
    /// Frames kept of a stack, leaf first; 1 to 256.
    public var maxFrames = 128
    /// OpenTelemetry's `service.name`; not in the line when nil.
    public var serviceName: String?
    /// OpenTelemetry's `service.version`; not in the line when nil.
    public var serviceVersion: String?
    /// Prefixes of module names or symbols that count as the program's own code, before the built-in rules.
    public var inAppPrefixes: [String] = []

    public init() {}

    /// The settings of a preset; everything else as by default.
    public static func preset(_ name: DetectionPreset) -> LagMonitorConfiguration {
        var configuration = LagMonitorConfiguration()
        switch name {
        case .standard: break
        case .relaxed: configuration.interval = .milliseconds(80)
        case .restoring:
            configuration.consecutiveTimeouts = 5
            configuration.restoreInterval = .seconds(5)
        }
        return configuration
    }

    /// From what duration on a stretch of work is a stall.
    public var threshold: Duration { interval * consecutiveTimeouts }

    /// - Throws: ``LagMonitorError/invalidConfiguration(key:value:allowed:)`` for the first value out of bounds.
    public func validate() throws(LagMonitorError) {
        try check("interval_ms", interval, .milliseconds(1)...(.seconds(60)), "1 ms to 60 s")
        try check("timeouts", consecutiveTimeouts, 1...1000, "1 to 1000")
        try check("restore_interval_ms", restoreInterval, .zero...(.seconds(3600)), "0 to 1 h")
        try check("hang_after_ms", hangAfter, .zero...(.seconds(3600)), "0 to 1 h")
        let bytes = LineLimits.allowedLineBytes
        try check("max_line_bytes", maxLineBytes, bytes, "\(bytes.lowerBound) to \(bytes.upperBound)")
        try check("max_frames", maxFrames, 1...Self.frameCapacity, "1 to \(Self.frameCapacity)")
    }

    /// Room for frames that every prepared episode has.
    static let frameCapacity = 256

    var rule: DetectionRule {
        DetectionRule(
            intervalNanoseconds: UInt64(interval.wholeNanoseconds),
            timeouts: consecutiveTimeouts,
            restoreNanoseconds: UInt64(restoreInterval.wholeNanoseconds),
            hangNanoseconds: UInt64(hangAfter.wholeNanoseconds)
        )
    }

    private func check<Value: Comparable>(
        _ key: String,
        _ value: Value,
        _ range: ClosedRange<Value>,
        _ allowed: String
    ) throws(LagMonitorError) {
        guard range.contains(value) else { throw .invalidConfiguration(key: key, value: "\(value)", allowed: allowed) }
    }
}
