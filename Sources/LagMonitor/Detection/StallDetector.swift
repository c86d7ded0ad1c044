/// Puts together what the rules say of one loop: one stall is reported once, whichever rules find it. Pure.
///
/// - What several rules find at the same time is one stall, which names them all. The one that knows beginning and end most
///   exactly *leads*: the stall's times, threshold and kind are that rule's, and it is over when that rule says so.
/// - What was told once is not told again: nothing before the end of a stall counts for any rule (`ignoreBefore`).
/// - `callout` and `starvation` are two troubles. A callout that stalls ends the starvation around it, and after the callout
///   starvation begins to count anew.
/// - After a stall that was told, further ones are only counted for the restore interval. If one ends there it is
///   *muted*; if it outlives the interval it is told after all, because a hang must not stay silent.
package struct StallDetector: Sendable {
    package let rules: WatchRules
    package private(set) var callout: CalloutStrategy?
    package private(set) var starvation: StarvationStrategy?
    package private(set) var pingWhileWaiting: PingStrategy?
    package private(set) var ping: PingStrategy?
    package private(set) var frame: FrameStrategy?
    package private(set) var sampling: SamplingStrategy?

    package private(set) var activeStall: ActiveStall?
    /// Nothing before that counts: a grace, a pause, the last stall.
    package private(set) var ignoreBefore: UInt64
    /// Until when stalls are only counted.
    private var restoreUntil: UInt64 = 0

    /// - Parameter ignoreBefore: nothing before that counts.
    package init(rules: WatchRules, ignoreBefore: UInt64 = 0) {
        self.rules = rules
        self.ignoreBefore = ignoreBefore
        callout = rules.callout.map { CalloutStrategy(rule: $0) }
        starvation = rules.starvationNanoseconds.map { StarvationStrategy(thresholdNanoseconds: $0) }
        pingWhileWaiting = rules.pingWhileWaiting.map { PingStrategy(rule: $0, whileWaiting: true) }
        ping = rules.ping.map { PingStrategy(rule: $0, whileWaiting: false) }
        frame = rules.frame.map { FrameStrategy(rule: $0) }
        sampling = rules.sampling.map { SamplingStrategy(rule: $0) }
    }

    /// Whether a stall is in progress that is, or will be, told.
    package var isStalled: Bool { activeStall.map { !$0.isMuted } ?? false }

    /// A stall of more intervals than that needs no closer looks: what a process pause leaves open is little in comparison.
    private static let closeTicks: UInt64 = 64

    /// Whether closer looks than once an interval are worth their cost: the shorter the waits, the better is known what a
    /// process pause took.
    var isSuspicious: Bool {
        if let activeStall, let span = span(of: activeStall.lead) {
            // These two have no exact beginning or are long: there an interval does not matter.
            guard activeStall.lead != .starvation, activeStall.lead != .sample else { return false }
            return !activeStall.isReported && span.length(at: span.seen) < Self.closeTicks * rules.tickNanoseconds
        }
        return (callout?.isSuspicious ?? false) || (ping?.isSuspicious ?? false) || (pingWhileWaiting?.isSuspicious ?? false)
            || (frame?.isSuspicious ?? false)
    }

    /// Whether a look that finds the loop at work at another word need not come here at once, but with the next look, by
    /// ``recordProgress(to:at:)``: no stall is in progress, and no look is wanted before the next tick.
    var canFastPoll: Bool { activeStall == nil && rules.allowsFastPoll }

    /// Times, other than the next tick, at which a look is wanted.
    package var nextPoll: UInt64? {
        var next = UInt64.max
        if let time = callout?.nextPoll { next = min(next, time) }
        if callout?.isStalled != true, let time = starvation?.nextPoll { next = min(next, time) }
        if let time = pingWhileWaiting?.nextPoll { next = min(next, time) }
        if let time = ping?.nextPoll { next = min(next, time) }
        if let time = frame?.nextPoll { next = min(next, time) }
        if let time = sampling?.nextPoll { next = min(next, time) }
        if let activeStall {
            if activeStall.isMuted {
                next = min(next, restoreUntil)
            } else if !activeStall.isReported, let span = span(of: activeStall.lead) {
                next = min(next, span.time(ofLength: rules.hangNanoseconds))
            }
        }
        return next == .max ? nil : next
    }

    /// The loop was at work at another word, at that time.
    mutating func recordProgress(to reading: BeaconReading, at seen: UInt64) { callout?.recordProgress(to: reading, at: seen, ignoreBefore: ignoreBefore) }

    /// Shows the loop to every rule.
    package mutating func observe(_ observation: Observation) -> Events {
        var events = Events()
        // What has ended is past, unless the clock went back: only a grace lies ahead. (A look's time may be older than the end of
        // the last stall, by what the looks at other loops took.)
        let ahead = observation.now.saturatingSum(rules.graceNanoseconds)
        if ignoreBefore > ahead.saturatingSum(Observation.longestRoundNanoseconds) { ignoreBefore = ahead }
        handle(callout?.observe(observation, ignoreBefore: ignoreBefore), of: .callout, at: observation.now, &events)
        // A callout that stalls is no starvation; when it is over, `ignoreBefore` is its end.
        if callout?.isStalled != true {
            handle(starvation?.observe(observation, ignoreBefore: ignoreBefore), of: .starvation, at: observation.now, &events)
        }
        handle(pingWhileWaiting?.observe(observation, ignoreBefore: ignoreBefore), of: .ping, at: observation.now, &events)
        handle(ping?.observe(observation, ignoreBefore: ignoreBefore), of: .ping, at: observation.now, &events)
        handle(frame?.observe(observation, ignoreBefore: ignoreBefore), of: .frame, at: observation.now, &events)
        handle(sampling?.observe(observation, ignoreBefore: ignoreBefore), of: .sample, at: observation.now, &events)
        events.wantsPing = (pingWhileWaiting?.wantsPing ?? false) || (ping?.wantsPing ?? false)
        if var present = activeStall {
            if present.isMuted, !isRestoring(at: observation.now) {
                present.isMuted = false
                events.opened = present.lead
            } else if !present.isMuted, !present.isReported, events.opened == nil, let span = span(of: present.lead),
                span.length(at: observation.now) >= rules.hangNanoseconds
            {
                present.isReported = true
                events.hanging = ended(present, StallInterval(span, until: observation.now))
            }
            activeStall = present
        }
        return events
    }

    /// A stretch of work is over of which the loop itself noted that it was long. To be called before ``observe(_:)``, which sees what
    /// came after it.
    ///
    /// That tells no more than the looks do, as long as they come: it is for the watchdog that had no processor meanwhile.
    package mutating func replay(since: UInt64, until: UInt64, _ observation: Observation) -> Events {
        var events = Events()
        // It may have ended after the round of looks began.
        guard let callout, until > ignoreBefore, since <= until else { return events }
        // Another process's loop may note anything.
        guard until <= observation.now.saturatingSum(Observation.longestRoundNanoseconds) else { return events }
        let isSeen = callout.span.map { since <= $0.since && $0.since < until } ?? false
        // Then its end will be told by the next look.
        if isSeen && callout.isStalled { return events }
        var span = isSeen ? callout.span! : OngoingInterval(since: since, seen: since)
        span.begin(notBefore: ignoreBefore)
        let interval = StallInterval(span, until: until, observation.processPause)
        guard interval.lengthAtLeast >= callout.thresholdNanoseconds, activeStall?.lead != .callout else { return events }
        let wasMuted = endEarlier(than: .callout, span, at: observation.now, &events)
        var present = ActiveStall(
            lead: .callout,
            kinds: StallKinds(.callout),
            thresholdNanoseconds: callout.thresholdNanoseconds,
            isMuted: wasMuted ?? isRestoring(at: observation.now)
        )
        if let other = activeStall {
            // Found by another rule as well, and told with its identity.
            present.kinds.formUnion(other.kinds)
            present.isMuted = other.isMuted
            activeStall = present
            close(interval, at: observation.now, &events)
            return events
        }
        activeStall = nil
        if present.isMuted {
            events.isSuppressed = true
        } else {
            events.unobserved = ended(present, interval)
            if rules.restoreNanoseconds > 0 { restoreUntil = observation.now.saturatingSum(rules.restoreNanoseconds) }
        }
        beginAll(notBefore: until)
        return events
    }

    /// How far the stall got that is in progress; nil when there is none.
    func present(at now: UInt64) -> DetectedStall? {
        guard let activeStall, let span = span(of: activeStall.lead) else { return nil }
        return ended(activeStall, StallInterval(span, until: now))
    }

    /// The stall that was just opened is none: a debugger holds the loop. Nothing before `now` counts.
    mutating func dismiss(at now: UInt64) {
        activeStall = nil
        beginAll(notBefore: now)
    }

    /// The watch ends or pauses: a stall in progress ends with it, so far as it got. Nothing before `ignoreBefore` counts afterwards.
    /// - Parameter processPause: one since the last look.
    package mutating func finish(at now: UInt64, ignoreBefore: UInt64 = 0, _ processPause: ProcessPause? = nil) -> FinishResult {
        let last = activeStall
        let span = last.flatMap { self.span(of: $0.lead) }
        let restoreUntil = restoreUntil
        self = StallDetector(rules: rules, ignoreBefore: max(self.ignoreBefore, ignoreBefore))
        self.restoreUntil = restoreUntil
        guard let last, let span else { return .nothing }
        return last.isMuted ? .suppressed : .stalled(ended(last, StallInterval(span, until: now, processPause)))
    }

    private mutating func handle(_ event: DetectorEvent?, of kind: StallKind, at now: UInt64, _ events: inout Events) {
        switch event {
        case nil, .nothing: break
        case .suspected: events.isSuspected = true
        case .stalled: found(kind, at: now, &events)
        case .ended(let interval):
            if activeStall?.lead == kind { close(interval, at: now, &events) }
        }
    }

    private mutating func found(_ kind: StallKind, at now: UInt64, _ events: inout Events) {
        // One callout that stalls is no starvation, however long it takes.
        if kind == .starvation, activeStall?.lead == .callout { return }
        let wasMuted = span(of: kind).flatMap { endEarlier(than: kind, $0, at: now, &events) }
        guard var present = activeStall else {
            let isMuted = wasMuted ?? isRestoring(at: now)
            let threshold = threshold(of: kind)
            activeStall = ActiveStall(lead: kind, kinds: StallKinds(kind), thresholdNanoseconds: threshold, isMuted: isMuted)
            if !isMuted { events.opened = kind }
            return
        }
        present.kinds.insert(StallKinds(kind))
        if kind < present.lead {
            present.lead = kind
            present.thresholdNanoseconds = threshold(of: kind)
        }
        activeStall = present
    }

    /// A rule that knows better takes over the stall, or begins another: what the stall had lasted for before was long enough
    /// for a stall, then it ends with the beginning of the new one and is told.
    ///
    /// Only callouts and starvations know their beginning well enough for that; a ping may be given in the midst of what others have
    /// found already. A starvation that was not long enough is none: what was found was the callout all along.
    /// - Returns: whether the stall that was ended was muted, and so is what follows it at once; nil when none was.
    private mutating func endEarlier(
        than kind: StallKind,
        _ span: OngoingInterval,
        at now: UInt64,
        _ events: inout Events
    ) -> Bool? {
        guard kind <= .starvation, let present = activeStall, kind < present.lead, let earlier = self.span(of: present.lead) else {
            return nil
        }
        let interval = StallInterval(earlier.part(before: span), until: span.since)
        if interval.lengthAtLeast >= present.thresholdNanoseconds {
            close(interval, at: now, exceptFor: kind, &events)
            return present.isMuted
        }
        if present.lead == .starvation {
            let threshold = threshold(of: kind)
            activeStall?.kinds.remove(StallKinds(.starvation))
            activeStall?.lead = kind
            activeStall?.thresholdNanoseconds = threshold
        }
        return nil
    }

    private mutating func close(
        _ interval: StallInterval,
        at now: UInt64,
        exceptFor kind: StallKind? = nil,
        _ events: inout Events
    ) {
        guard let last = activeStall else { return }
        activeStall = nil
        if last.isMuted {
            events.isSuppressed = true
        } else {
            events.ended = ended(last, interval)
            if rules.restoreNanoseconds > 0 { restoreUntil = now.saturatingSum(rules.restoreNanoseconds) }
        }
        beginAll(notBefore: interval.until, exceptFor: kind)
    }

    /// The second condition holds unless the clock went back; it must not silence the loop for long.
    private func isRestoring(at now: UInt64) -> Bool { now < restoreUntil && restoreUntil - now <= rules.restoreNanoseconds }

    private mutating func beginAll(notBefore time: UInt64, exceptFor kind: StallKind? = nil) {
        ignoreBefore = max(ignoreBefore, time)
        if kind != .callout { callout?.begin(notBefore: ignoreBefore) }
        if kind != .starvation { starvation?.begin(notBefore: ignoreBefore) }
        if kind != .ping {
            pingWhileWaiting?.begin(notBefore: ignoreBefore)
            ping?.begin(notBefore: ignoreBefore)
        }
        if kind != .frame { frame?.begin(notBefore: ignoreBefore) }
        if kind != .sample { sampling?.begin(notBefore: ignoreBefore) }
    }

    private func ended(_ activeStall: ActiveStall, _ interval: StallInterval) -> DetectedStall {
        DetectedStall(kind: activeStall.lead, kinds: activeStall.kinds, interval: interval, thresholdNanoseconds: activeStall.thresholdNanoseconds)
    }

    package func span(of kind: StallKind) -> OngoingInterval? {
        switch kind {
        case .callout: callout?.span
        case .starvation: starvation?.span
        case .ping: stalledPing?.span
        case .frame: frame?.span
        case .sample: sampling?.span
        }
    }

    /// The one of the two that found a stall.
    private var stalledPing: PingStrategy? {
        if let ping, ping.isStalled { return ping }
        return pingWhileWaiting.flatMap { $0.isStalled ? $0 : nil }
    }

    /// Of a rule that is there; a ping's while it finds a stall.
    private func threshold(of kind: StallKind) -> UInt64 {
        switch kind {
        case .callout: callout?.thresholdNanoseconds ?? 0
        case .starvation: starvation?.thresholdNanoseconds ?? 0
        case .ping: stalledPing?.thresholdNanoseconds ?? 0
        case .frame: frame?.thresholdNanoseconds ?? 0
        case .sample: sampling?.thresholdNanoseconds ?? 0
        }
    }
}
