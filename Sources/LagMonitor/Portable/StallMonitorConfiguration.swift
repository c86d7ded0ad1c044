public import LagOutput

/// How a monitor decides and what it writes.
public struct StallMonitorConfiguration: Sendable, Equatable {
    /// What counts as a stall, for loops that are watched without rules of their own.
    public var rules = StallRules()
    /// For this long after a reported stall, further stalls are only counted as suppressed; zero: each is reported. At most one
    /// hour.
    public var restoreInterval: Duration = .zero
    /// For this long after the watch of a loop began, nothing counts, because programs start slowly. A hang that outlasts it is
    /// found. At most one hour.
    public var startupGrace: Duration = .zero
    /// A stall that lasts this long is reported while it lasts, by a `begin` line; zero: at detection. At most one hour.
    public var hangAfter: Duration = .milliseconds(5000)
    /// A file that keeps the stalls in progress, in case the process dies during one: SIGKILL, a crash, out of memory. The next
    /// start reports them as `abandoned` lines. The file exists during a stall, and afterwards until ``StallMonitor/stop()``. If
    /// several processes use the same path, each takes a name of its own (`PATH`, `PATH.1`, …). Use a disk that does not hang:
    /// the reporter waits for it. nil: nothing is kept.
    public var unfinishedPath: String?
    /// How many records are reported when there are many; the others are counted and summarized.
    public var limits = RecordLimits()
    /// When a stall that recurs gets a line about the recurrence; nil: never.
    public var recurrence: RecurrenceRule? = RecurrenceRule()
    /// Which of a stall's samples a record holds.
    public var samples = Samples.best
    /// What a record contains about a frame.
    public var symbols = Symbols.names
    /// The longest line in bytes, newline included; 1024 to 1,048,576.
    public var maxLineBytes = 8000
    /// How a record is written, for sinks that have no format of their own.
    public var format = RecordFormat.native
    /// Frames kept of a stack, leaf first; 1 to 256.
    public var maxFrames = 128
    /// Names and values of your own, in every line: `["team": "shop"]`. At most 16. A name is a letter and up to 31 letters,
    /// digits, `_` or `-`; a value is 1 to 128 bytes without control characters. All together take at most an eighth of
    /// ``maxLineBytes``.
    public var labels: [String: String] = [:]
    /// Whether records contain the program's contexts (`withStallContext`): `request`, `requests_open`, `trace_id`. Nil: no, and
    /// then `withStallContext` costs a load.
    public var contexts: StallContexts?
    /// What the program adds to a record when a stall is recognised: `state`. Nil: nothing.
    public var onStallBegin: StallBeginHook?
    /// OpenTelemetry's `service.name`; nil: from the process's environment (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`).
    public var serviceName: String?
    /// OpenTelemetry's `service.version`; nil: from the process's environment (`OTEL_RESOURCE_ATTRIBUTES`).
    public var serviceVersion: String?
    /// Prefixes of paths, file names or symbols that are the program's own code, regardless of the built-in rules.
    public var inAppPrefixes: [String] = []
    /// Prefixes of paths, file names or symbols that are not the program's own code; ``inAppPrefixes`` win over them.
    public var notInAppPrefixes: [String] = []

    /// Which of a stall's samples a record holds.
    public enum Samples: String, Sendable, CaseIterable {
        /// The stack that covers most of the stall's time.
        case best
        /// In addition, all of them, merged into a tree.
        case all
    }

    /// What a record contains about a frame.
    public enum Symbols: String, Sendable, CaseIterable {
        /// The function.
        case names
        /// In addition file, line and inlined functions, from a child process. Needs `LineSymbols.enable()` of the product
        /// LagSymbols; without it, ``StallMonitor/start()`` throws.
        case lines
    }

    /// The defaults.
    public init() {}

    /// The settings of a preset; everything else has its default.
    public static func preset(_ name: DetectionPreset) -> StallMonitorConfiguration {
        var configuration = StallMonitorConfiguration()
        switch name {
        case .standard: break
        case .relaxed: configuration.rules.callout = .init(interval: .milliseconds(80))
        case .restoring:
            configuration.rules.callout = .init(timeouts: 5)
            configuration.restoreInterval = .seconds(5)
        }
        return configuration
    }

    /// - Throws: ``StallMonitorError/invalidConfiguration(key:value:allowed:)`` for the first value out of bounds.
    public func validate() throws(StallMonitorError) {
        try rules.validate()
        try SettingBounds.check("startup_grace_ms", startupGrace, .zero...(.seconds(3600)), "0 to 1 h")
        try SettingBounds.check("restore_interval_ms", restoreInterval, .zero...(.seconds(3600)), "0 to 1 h")
        try SettingBounds.check("hang_after_ms", hangAfter, .zero...(.seconds(3600)), "0 to 1 h")
        try limits.validate()
        try recurrence?.validate()
        try SettingBounds.check("unfinished_path", unfinishedPath, "a path")
        try SettingBounds.check("service.name", serviceName, "a text that is not empty")
        try SettingBounds.check("service.version", serviceVersion, "a text that is not empty")
        // An empty prefix would be one of every function.
        for prefix in inAppPrefixes { try SettingBounds.check("in_app_prefixes", prefix, "texts that are not empty") }
        for prefix in notInAppPrefixes { try SettingBounds.check("not_in_app_prefixes", prefix, "texts that are not empty") }
        _ = try checkedLineLimits()
        _ = try checkedLabels()
        try SettingBounds.check("max_frames", maxFrames, 1...Self.frameCapacity, "1 to \(Self.frameCapacity)")
    }

    /// ``labels``, checked.
    package func checkedLabels() throws(StallMonitorError) -> RecordLabels {
        let checked: RecordLabels
        do throws(RecordLabels.ValidationError) {
            checked = try RecordLabels(labels)
        } catch {
            throw .invalidConfiguration(key: "labels", value: "not valid: \(error.reason)", allowed: RecordLabels.allowed)
        }
        let limit = maxLineBytes / RecordLabels.shareOfLine
        guard checked.lineBytes <= limit else {
            let allowed = "\(limit) bytes of a line, which is one part in \(RecordLabels.shareOfLine) of max_line_bytes"
            throw .invalidConfiguration(key: "labels", value: "\(checked.lineBytes) bytes long", allowed: allowed)
        }
        return checked
    }
    /// The bounds of a line.
    package func checkedLineLimits() throws(StallMonitorError) -> LineLimits {
        do throws(LineLimitsError) {
            return try LineLimits(maxLineBytes: maxLineBytes)
        } catch {
            let bytes = LineLimits.allowedLineBytes
            let allowed = "\(bytes.lowerBound) to \(bytes.upperBound)"
            throw .invalidConfiguration(key: "max_line_bytes", value: "\(error.maxLineBytes)", allowed: allowed)
        }
    }
}
