public import Dispatch
internal import LagModel
public import LagMonitor

/// A test monitor that finds nothing: its detector is for Linux. Run tests that expect records only if
/// ``StallMonitor/isSupported``.
public final class TestMonitor: StallSource {
    public let labels: [String: String]
    private let time = PthreadMutex(MonotonicTime(nanoseconds: 0))
    private let loops = PthreadMutex<[String: ScriptedLoop]>([:])
    private let subscriptions = StallSubscriptions()

    public init(configuration: StallMonitorConfiguration = .init(), sinks: [any RecordSink] = []) throws(StallMonitorError) {
        try configuration.validate()
        labels = configuration.labels
    }

    public convenience init(rules: StallRules) throws(StallMonitorError) {
        var configuration = StallMonitorConfiguration()
        configuration.rules = rules
        try self.init(configuration: configuration)
    }

    deinit { subscriptions.finish() }

    public func loop(_ name: String = "main") -> ScriptedLoop {
        loops.withLock { loops in
            if let loop = loops[name] { return loop }
            let loop = ScriptedLoop(name: name) { [weak self] in self?.advance(by: $0) }
            loops[name] = loop
            return loop
        }
    }

    @discardableResult
    public func watch(_ name: String, rules: StallRules?) throws(StallMonitorError) -> ScriptedLoop {
        try rules?.validate()
        return loop(name)
    }

    public func unwatch(_ loop: ScriptedLoop) { loops.withLock { $0[loop.name] = nil } }
    public var now: MonotonicTime { time.withLock { $0 } }
    public func advance(by duration: Duration) { time.withLock { $0 = $0 + max(.zero, duration) } }
    public var records: [StallRecord] { [] }
    public var lines: [String] { [] }
    public var stalls: StallSequence { StallSequence(subscriptions) }
    public var statistics: StallMonitorStatistics { StallMonitorStatistics() }

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

    public func waitForHandlers(atMost limit: Duration = .seconds(30)) -> Bool { true }
    public func stop() { subscriptions.finish() }
}

/// A loop that does what a test scripts, unwatched.
public final class ScriptedLoop: PingableLoop, Sendable {
    public let name: String
    public let beacon = ActivityBeacon()
    private let advance: @Sendable (Duration) -> Void

    init(name: String, advance: @escaping @Sendable (Duration) -> Void) {
        self.name = name
        self.advance = advance
    }

    public var thread: ThreadIdentity { .current }
    public var pingsWithoutLocking: Bool { true }
    public func modeName(_ number: UInt32) -> String? { nil }

    public func work(for duration: Duration, _ work: ScriptedWork = .init(), times: Int = 1) {
        for _ in 0..<max(0, times) { advance(duration) }
    }

    public func begin(_ work: ScriptedWork = .init()) {}
    public func end() {}
    public func ignorePings(for duration: Duration, _ work: ScriptedWork = .init()) { advance(duration) }
    public func ping() {}
}

enum ManualMonitor {
    static func describe(_ record: inout StallRecord) { record.message = StallMessage(record).text }
}
