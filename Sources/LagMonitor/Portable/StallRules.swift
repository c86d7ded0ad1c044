/// By which rules a loop is found to be stalled, and from what on. Each rule can be left out; several that find the same
/// stall make one record, which names them all (`found_by`).
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
/// The first two cost an idle loop nothing. The others wake the loop or sample its stack, as often as they say.
public struct StallRules: Sendable, Equatable {
    /// N timeouts of one interval in a row; the threshold is interval × timeouts.
    public struct Timeouts: Sendable, Equatable {
        /// Length of one wait; 1 ms to 60 s.
        public var interval: Duration
        /// Timeouts in a row that make a stall; 1 to 1000.
        public var timeouts: Int

        /// 50 ms × 3 unless said otherwise.
        public init(interval: Duration = .milliseconds(50), timeouts: Int = 3) {
            self.interval = interval
            self.timeouts = timeouts
        }

        /// From what duration on it is a stall.
        public var threshold: Duration {
            // What is out of range is refused later; until then its product must not trap.
            min(max(interval, .zero), .seconds(1 << 40)) * min(max(timeouts, 0), 1 << 20)
        }
    }

    /// Ticks at a fixed rate.
    public struct FrameTicks: Sendable, Equatable {
        /// Ticks a second; 1 to 1000.
        public var rate: Int
        /// Missed ticks in a row that make a stall; 1 to 100,000.
        public var missed: Int

        /// 9 of 60 ticks a second unless said otherwise: 150 ms.
        public init(rate: Int = 60, missed: Int = 9) {
            self.rate = rate
            self.missed = missed
        }

        /// Between two ticks, to the nearest nanosecond.
        public var period: Duration { .nanoseconds((1_000_000_000 + max(1, rate) / 2) / max(1, rate)) }
    }

    /// Samples of the stack.
    public struct StackSampling: Sendable, Equatable {
        /// Between two samples; 1 ms to 60 s.
        public var interval: Duration
        /// Equal samples in a row that make a stall; 2 to 1000.
        public var samples: Int
        /// How many functions, from the innermost on, have to be the same; 1 to 4.
        public var functions: Int

        /// 4 samples, 50 ms apart, with the same innermost function, unless said otherwise.
        public init(interval: Duration = .milliseconds(50), samples: Int = 4, functions: Int = 1) {
            self.interval = interval
            self.samples = samples
            self.functions = functions
        }
    }

    /// One callback that does not end: the loop's activity stands still. `kind` in records: `callout`.
    public var callout: Timeouts? = Timeouts()
    /// Many short callbacks, and the loop comes to no rest for so long; 1 ms to one hour. `kind`: `starvation`.
    public var starvationThreshold: Duration? = .seconds(1)
    /// A ping when the loop says that it waits: finds what passes no activity. Wakes an idle loop once an interval. `kind`: `ping`.
    public var pingWhileWaiting: Timeouts?
    /// A ping an interval, whatever the loop says; for loops and queues that publish no activity (``PingedQueue``). `kind`: `ping`.
    public var ping: Timeouts?
    /// Ticks at a fixed rate, of which so many in a row are missed. The rate that is reached: ``StallMonitor/frameRate(of:)``.
    /// `kind`: `frame`.
    public var frame: FrameTicks?
    /// The same functions on top of the stack again and again. A running thread is asked by a signal. `kind`: `sample`.
    public var sampling: StackSampling?

    /// The defaults: ``callout`` and ``starvationThreshold``.
    public init() {}

    /// No rule but those that are set afterwards.
    public static var empty: StallRules {
        var rules = StallRules()
        rules.callout = nil
        rules.starvationThreshold = nil
        return rules
    }

    /// For what has to be asked, queues and pools: a ping that is not answered within three intervals of 250 ms. Four times a second an
    /// idle one is woken for it.
    public static var pings: StallRules {
        var rules = StallRules.empty
        rules.ping = .init(interval: .milliseconds(250), timeouts: 3)
        return rules
    }

    /// For loops that answer at once: a ping that is not answered within three intervals of 50 ms. The other rules ask for more than they report.
    package static var heartbeat: StallRules {
        var rules = StallRules.empty
        rules.ping = .init()
        return rules
    }

    /// For the threads of a pool (`ConcurrencyPool`): one that runs one job for three intervals of 50 ms. No thread is woken for it.
    public static var jobs: StallRules {
        var rules = StallRules.empty
        rules.callout = .init()
        return rules
    }

    /// - Throws: ``StallMonitorError/invalidConfiguration(key:value:allowed:)`` for the first value out of bounds, and when there
    ///   is no rule at all.
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
