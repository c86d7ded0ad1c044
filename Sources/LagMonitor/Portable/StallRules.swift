/// The rules that decide when a loop is stalled, and their thresholds. Each rule can be turned off. If several rules find the
/// same stall, it makes one record, which names them all (`found_by`).
///
/// ```swift
/// import LagMonitor
///
/// var rules = StallRules()                              // callout 50 ms × 3, starvation 1 s
/// rules.callout = .init(interval: .milliseconds(20), timeouts: 3)
/// rules.ping = .init(interval: .milliseconds(100), timeouts: 5)
/// try monitor.watch(loop, rules: rules)                 // for this loop alone
/// ```
///
/// The first two cost an idle loop nothing. The others wake the loop or sample its stack, at the rate that they set.
public struct StallRules: Sendable, Equatable {
    /// N timeouts of one interval in a row; the threshold is interval × timeouts.
    public struct Timeouts: Sendable, Equatable {
        /// Length of one wait; 1 ms to 60 s.
        public var interval: Duration
        /// Timeouts in a row that make a stall; 1 to 1000.
        public var timeouts: Int

        /// The default is 50 ms × 3.
        public init(interval: Duration = .milliseconds(50), timeouts: Int = 3) {
            self.interval = interval
            self.timeouts = timeouts
        }

        /// A stall lasts at least this long.
        public var threshold: Duration {
            // A value out of range is rejected later; until then the product must not trap.
            min(max(interval, .zero), .seconds(1 << 40)) * min(max(timeouts, 0), 1 << 20)
        }
    }

    /// Ticks at a fixed rate.
    public struct FrameTicks: Sendable, Equatable {
        /// Ticks a second; 1 to 1000.
        public var rate: Int
        /// Missed ticks in a row that make a stall; 1 to 100,000.
        public var missed: Int

        /// The default is 9 of 60 ticks a second: 150 ms.
        public init(rate: Int = 60, missed: Int = 9) {
            self.rate = rate
            self.missed = missed
        }

        /// Time between two ticks, to the nearest nanosecond.
        public var period: Duration { .nanoseconds((1_000_000_000 + max(1, rate) / 2) / max(1, rate)) }
    }

    /// Samples of the stack.
    public struct StackSampling: Sendable, Equatable {
        /// Time between two samples; 1 ms to 60 s.
        public var interval: Duration
        /// Equal samples in a row that make a stall; 2 to 1000.
        public var samples: Int
        /// How many functions, from the innermost on, must be the same; 1 to 4.
        public var functions: Int

        /// The default is 4 samples, 50 ms apart, with the same innermost function.
        public init(interval: Duration = .milliseconds(50), samples: Int = 4, functions: Int = 1) {
            self.interval = interval
            self.samples = samples
            self.functions = functions
        }
    }

    /// One callback that does not return: the loop's activity does not change. `kind` in records: `callout`.
    public var callout: Timeouts? = Timeouts()
    /// Many short callbacks, and the loop does not become idle for this long; 1 ms to one hour. `kind`: `starvation`.
    public var starvationThreshold: Duration? = .seconds(1)
    /// A ping while the loop reports that it waits: finds work that is not published as an activity. Wakes an idle loop once an
    /// interval. `kind`: `ping`.
    public var pingWhileWaiting: Timeouts?
    /// A ping every interval, regardless of what the loop reports; for loops and queues that publish no activity
    /// (``PingedQueue``). `kind`: `ping`.
    public var ping: Timeouts?
    /// Ticks at a fixed rate; a stall is this many missed ticks in a row. ``StallMonitor/frameRate(of:)`` returns the rate that
    /// is reached. `kind`: `frame`.
    public var frame: FrameTicks?
    /// The same functions on top of the stack in successive samples. A running thread is sampled by a signal. `kind`: `sample`.
    public var sampling: StackSampling?

    /// The defaults: ``callout`` and ``starvationThreshold``.
    public init() {}

    /// No rules, to be set afterwards.
    public static var empty: StallRules {
        var rules = StallRules()
        rules.callout = nil
        rules.starvationThreshold = nil
        return rules
    }

    /// For queues and pools, which must be pinged: a ping that is not answered within three intervals of 250 ms. An idle one is
    /// woken for it four times a second.
    public static var pings: StallRules {
        var rules = StallRules.empty
        rules.ping = .init(interval: .milliseconds(250), timeouts: 3)
        return rules
    }

    /// For loops that answer at once: a ping that is not answered within three intervals of 50 ms. The other rules require more
    /// than these loops report.
    package static var heartbeat: StallRules {
        var rules = StallRules.empty
        rules.ping = .init()
        return rules
    }

    /// For the threads of a pool (`ConcurrencyPool`): a thread that runs one job for three intervals of 50 ms. No thread is woken
    /// for it.
    public static var jobs: StallRules {
        var rules = StallRules.empty
        rules.callout = .init()
        return rules
    }

    /// - Throws: ``StallMonitorError/invalidConfiguration(key:value:allowed:)`` for the first value out of bounds, and if no rule
    ///   is set.
    public func validate() throws(StallMonitorError) {
        guard self != .empty else { throw .invalidConfiguration(key: "rules", value: "none", allowed: "at least one rule") }
        try Self.checkTimeouts(callout, "interval_ms", "timeouts")
        try Self.checkTimeouts(pingWhileWaiting, "ping_while_waiting.interval_ms", "ping_while_waiting.timeouts")
        try Self.checkTimeouts(ping, "ping.interval_ms", "ping.timeouts")
        if let starvationThreshold {
            try SettingBounds.check("starvation_ms", starvationThreshold, .milliseconds(1)...(.seconds(3600)), "1 ms to 1 h")
        }
        if let frame {
            try SettingBounds.check("frame.rate", frame.rate, 1...1000, "1 to 1000")
            try SettingBounds.check("frame.missed", frame.missed, 1...100_000, "1 to 100000")
        }
        if let sampling {
            try SettingBounds.check("sampling.interval_ms", sampling.interval, .milliseconds(1)...(.seconds(60)), "1 ms to 60 s")
            try SettingBounds.check("sampling.samples", sampling.samples, 2...1000, "2 to 1000")
            let functions = 1...Self.maximumFunctions
            try SettingBounds.check("sampling.functions", sampling.functions, functions, "1 to \(functions.upperBound)")
        }
    }

    private static func checkTimeouts(_ rule: Timeouts?, _ interval: String, _ timeouts: String) throws(StallMonitorError) {
        guard let rule else { return }
        try SettingBounds.check(interval, rule.interval, .milliseconds(1)...(.seconds(60)), "1 ms to 60 s")
        try SettingBounds.check(timeouts, rule.timeouts, 1...1000, "1 to 1000")
    }
}
