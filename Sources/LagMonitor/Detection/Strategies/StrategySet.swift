internal import LagModel

/// The strategies of one loop: one for each rule of its watch. Pure, like the strategies; no allocation.
package struct StrategySet: Sendable {
    package var callout: CalloutStrategy?
    package var starvation: StarvationStrategy?
    package var pingWhileWaiting: PingStrategy?
    package var ping: PingStrategy?
    package var frame: FrameStrategy?
    package var sampling: SamplingStrategy?

    init(rules: WatchRules) {
        callout = rules.callout.map { CalloutStrategy(rule: $0) }
        starvation = rules.starvationNanoseconds.map { StarvationStrategy(thresholdNanoseconds: $0) }
        pingWhileWaiting = rules.pingWhileWaiting.map { PingStrategy(rule: $0, whileWaiting: true) }
        ping = rules.ping.map { PingStrategy(rule: $0, whileWaiting: false) }
        frame = rules.frame.map { FrameStrategy(rule: $0) }
        sampling = rules.sampling.map { SamplingStrategy(rule: $0) }
    }

    /// Whether one that knows its beginning exactly may find a stall soon.
    var areSuspicious: Bool {
        (callout?.isSuspicious ?? false) || (ping?.isSuspicious ?? false) || (pingWhileWaiting?.isSuspicious ?? false)
            || (frame?.isSuspicious ?? false)
    }

    var wantPing: Bool { (pingWhileWaiting?.wantsPing ?? false) || (ping?.wantsPing ?? false) }

    /// The first time for which one of them requests an observation; `UInt64.max`: none.
    var nextPoll: UInt64 {
        var next = UInt64.max
        if let time = callout?.nextPoll { next = min(next, time) }
        // A callout that stalls is not a starvation.
        if callout?.isStalled != true, let time = starvation?.nextPoll { next = min(next, time) }
        if let time = pingWhileWaiting?.nextPoll { next = min(next, time) }
        if let time = ping?.nextPoll { next = min(next, time) }
        if let time = frame?.nextPoll { next = min(next, time) }
        if let time = sampling?.nextPoll { next = min(next, time) }
        return next
    }

    /// Nothing before `ignoreBefore` counts any more, for all except one of them.
    mutating func begin(notBefore ignoreBefore: UInt64, exceptFor kind: StallKind?) {
        if kind != .callout { callout?.begin(notBefore: ignoreBefore) }
        if kind != .starvation { starvation?.begin(notBefore: ignoreBefore) }
        if kind != .ping {
            pingWhileWaiting?.begin(notBefore: ignoreBefore)
            ping?.begin(notBefore: ignoreBefore)
        }
        if kind != .frame { frame?.begin(notBefore: ignoreBefore) }
        if kind != .sample { sampling?.begin(notBefore: ignoreBefore) }
    }

    func interval(of kind: StallKind) -> StallInterval? {
        switch kind {
        case .callout: callout?.interval
        case .starvation: starvation?.interval
        case .ping: stalledPing?.interval
        case .frame: frame?.interval
        case .sample: sampling?.interval
        }
    }

    /// The one of the two that found a stall.
    private var stalledPing: PingStrategy? {
        if let ping, ping.isStalled { return ping }
        // Not by `flatMap`, whose metadata is allocated when it is first called in a debug build: by the watchdog.
        if let pingWhileWaiting, pingWhileWaiting.isStalled { return pingWhileWaiting }
        return nil
    }

    /// The threshold of an existing rule; for a ping, while it finds a stall.
    func threshold(of kind: StallKind) -> UInt64 {
        switch kind {
        case .callout: callout?.thresholdNanoseconds ?? 0
        case .starvation: starvation?.thresholdNanoseconds ?? 0
        case .ping: stalledPing?.thresholdNanoseconds ?? 0
        case .frame: frame?.thresholdNanoseconds ?? 0
        case .sample: sampling?.thresholdNanoseconds ?? 0
        }
    }
}
