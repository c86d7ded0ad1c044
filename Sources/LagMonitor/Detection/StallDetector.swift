internal import LagActivity
internal import LagModel

/// Combines what the rules find in one loop: each stall is reported once, whichever rules find it. Pure: observation in, events
/// out.
///
/// - What several rules find at the same time is one stall, which names them all. The rule that knows beginning and end most
///   exactly *leads*: the stall's times, threshold and kind are that rule's, and the stall ends when that rule ends it.
/// - A reported stall is not reported again: nothing before its end counts for any rule (`ignoreBefore`).
/// - `callout` and `starvation` are two kinds of stall. A callout that stalls ends the starvation around it; after the callout,
///   starvation is counted from zero.
/// - After a reported stall, further ones are *muted* for the restore interval: counted, not reported. One that outlasts the
///   interval or becomes a hang is reported after all.
package struct StallDetector: Sendable {
    package let rules: WatchRules
    package private(set) var strategies: StrategySet

    package private(set) var activeStall: ActiveStall?
    /// Nothing before this time counts: it is the end of a grace period, a pause, or the last stall.
    package private(set) var ignoreBefore: UInt64
    /// Until when stalls are only counted.
    private var restoreUntil: UInt64 = 0

    /// - Parameter ignoreBefore: nothing before it counts.
    package init(rules: WatchRules, ignoreBefore: UInt64 = 0) {
        self.rules = rules
        self.ignoreBefore = ignoreBefore
        strategies = StrategySet(rules: rules)
    }

    /// Whether a stall is in progress that is, or will be, reported.
    package var isStalled: Bool { activeStall.map { !$0.isMuted } ?? false }

    /// A stall of more intervals than this needs no shorter waits: the uncertainty of a process pause is small in comparison.
    private static let closeTicks: UInt64 = 64

    /// Whether observing more often than once an interval is worth its cost: with shorter waits it is known more exactly how long
    /// a process pause took.
    var isSuspicious: Bool {
        if let activeStall, let interval = self.interval(of: activeStall.lead) {
            // These two have no exact beginning or are long: an interval does not matter to them.
            guard activeStall.lead != .starvation, activeStall.lead != .sample else { return false }
            return !activeStall.isReported && interval.length(at: interval.until) < Self.closeTicks * rules.tickNanoseconds
        }
        return strategies.areSuspicious
    }

    /// Whether a scan that finds the loop working at a new word need not observe it at once: ``recordProgress(to:at:)`` records
    /// it with the next observation. True if no stall is in progress, and no rule requests a time before the next tick.
    var canFastPoll: Bool { activeStall == nil && rules.allowsFastPoll }

    /// The next time, other than the next tick, for which an observation is requested.
    package var nextPoll: UInt64? {
        var next = strategies.nextPoll
        if let activeStall {
            if activeStall.isMuted { next = min(next, restoreUntil) }
            if !activeStall.isReported, let interval = self.interval(of: activeStall.lead) {
                next = min(next, interval.time(ofLength: rules.hangNanoseconds))
            }
        }
        return next == .max ? nil : next
    }

    /// The loop was working at a new word at that time.
    mutating func recordProgress(to reading: BeaconReading, at seen: UInt64) {
        strategies.callout?.recordProgress(to: reading, at: seen, ignoreBefore: ignoreBefore)
    }

    /// Passes an observation of the loop to every rule.
    package mutating func observe(_ observation: Observation) -> DetectorEvents {
        var events = DetectorEvents()
        // What has ended is in the past, unless the clock went back: only a grace period is in the future. (An observation's time
        // may be earlier than the end of the last stall, by the time that the scan of other loops took.)
        let now = observation.now
        let ahead = now.saturatingSum(rules.graceNanoseconds)
        if ignoreBefore > ahead.saturatingSum(Observation.longestRoundNanoseconds) { ignoreBefore = ahead }
        handle(strategies.callout?.observe(observation, ignoreBefore: ignoreBefore), of: .callout, at: now, &events)
        // A callout that stalls is not a starvation; when it is over, `ignoreBefore` is its end.
        if strategies.callout?.isStalled != true {
            handle(strategies.starvation?.observe(observation, ignoreBefore: ignoreBefore), of: .starvation, at: now, &events)
        }
        handle(strategies.pingWhileWaiting?.observe(observation, ignoreBefore: ignoreBefore), of: .ping, at: now, &events)
        handle(strategies.ping?.observe(observation, ignoreBefore: ignoreBefore), of: .ping, at: now, &events)
        handle(strategies.frame?.observe(observation, ignoreBefore: ignoreBefore), of: .frame, at: now, &events)
        handle(strategies.sampling?.observe(observation, ignoreBefore: ignoreBefore), of: .sample, at: now, &events)
        reportLongStall(at: now, &events)
        if strategies.wantPing { events.append(.wantsPing) }
        return events
    }

    /// A muted stall that outlasted the restore interval, or became a hang, is reported after all; a long one is reported before
    /// its end.
    private mutating func reportLongStall(at now: UInt64, _ events: inout DetectorEvents) {
        guard var stall = activeStall else { return }
        if stall.isMuted {
            guard let interval = self.interval(of: stall.lead),
                !isRestoring(at: now) || interval.length(at: now) >= rules.hangNanoseconds
            else { return }
            stall.isMuted = false
            activeStall = stall
            events.append(.opened(stall, interval))
        } else if !stall.isReported, !events.hasOpened, let interval = self.interval(of: stall.lead),
            interval.length(at: now) >= rules.hangNanoseconds
        {
            stall.isReported = true
            activeStall = stall
            events.append(.hanging(stall, interval.ended(at: now)))
        }
    }

    /// Reports a stall in progress now, like a hang, however short it is so far: the caller expects the process to exit.
    /// - Parameter requested: the time of the request; a stall that began later is excluded.
    /// - Returns: ``DetectorEvent/hanging(_:_:)``; nil if there is nothing to report, or it was reported before.
    package mutating func reportNow(begunBefore requested: UInt64, at now: UInt64) -> DetectorEvent? {
        guard var stall = activeStall, !stall.isMuted, !stall.isReported, let interval = self.interval(of: stall.lead),
            interval.since <= requested
        else { return nil }
        stall.isReported = true
        activeStall = stall
        return .hanging(stall, interval.ended(at: now))
    }

    /// A stretch of work is over that the loop itself recorded as long. Call this before ``observe(_:)``, which sees what
    /// followed it.
    ///
    /// This adds nothing as long as observations arrive regularly: it is for a watchdog that had no processor meanwhile. A stall
    /// in progress then ends here, so that a following stall counts as another one (shown by the model in `Evaluation/Proof`).
    package mutating func replay(since: UInt64, until: UInt64, _ observation: Observation) -> DetectorEvents {
        var events = DetectorEvents()
        // It may have ended after the scan began.
        guard let callout = strategies.callout, until > ignoreBefore, since <= until else { return events }
        // Another process's loop may record anything.
        guard until <= observation.now.saturatingSum(Observation.longestRoundNanoseconds) else { return events }
        let seen = callout.interval.flatMap { since <= $0.since && $0.since < until ? $0 : nil }
        // For a sampled loop, only bounds of the end are known.
        let sampled = observation.reading.sampled?.last(publishedNanoseconds: since)
        var end = TimeBounds.exact(until)
        if let bounds = sampled?.ended { end = bounds }
        if activeStall?.lead == .callout, callout.isStalled, var stalled = callout.interval, seen != nil || since > stalled.since
        {
            // If the stretch is not the stall's own, it is only known that the stall was over by then.
            let bounds = seen != nil ? end : .exact(since)
            if seen != nil, let sampled { stalled.refine(by: sampled) }
            close(stalled.ended(within: bounds, observation.processPause), at: observation.now, &events)
            if seen != nil { return events }
        }
        var interval =
            seen
            ?? StallInterval(since: since, earliest: sampled?.began.earliest, seen: since)
        if let sampled { interval.refine(by: sampled) }
        interval.begin(notBefore: ignoreBefore)
        let ended = interval.ended(within: end, observation.processPause)
        guard ended.lengthSinceLikely >= callout.thresholdNanoseconds, activeStall?.lead != .callout else { return events }
        let wasMuted = endEarlier(than: .callout, interval, at: observation.now, &events)
        var stall = ActiveStall(
            lead: .callout,
            kinds: StallKinds(.callout),
            thresholdNanoseconds: callout.thresholdNanoseconds,
            isMuted: wasMuted ?? isRestoring(at: observation.now)
        )
        if let other = activeStall {
            // Another rule has found it as well, and it was reported with that identity.
            stall.kinds.formUnion(other.kinds)
            stall.isMuted = other.isMuted
            activeStall = stall
            close(ended, at: observation.now, &events)
            return events
        }
        if stall.isMuted {
            events.append(.suppressed)
        } else {
            events.append(.unobserved(stall, ended))
            if rules.restoreNanoseconds > 0 { restoreUntil = observation.now.saturatingSum(rules.restoreNanoseconds) }
        }
        beginAll(notBefore: until)
        return events
    }

    /// The interval of the stall in progress up to `now`; nil without a stall.
    func presentInterval(at now: UInt64) -> StallInterval? {
        activeStall.flatMap { interval(of: $0.lead) }?.ended(at: now)
    }

    /// The stall that was just opened does not count: a debugger holds the loop. Nothing before `now` counts.
    mutating func dismiss(at now: UInt64) {
        activeStall = nil
        beginAll(notBefore: now)
    }

    /// The watch ends or pauses: a stall in progress ends with it. Nothing before `ignoreBefore` counts afterwards.
    /// - Parameter processPause: one since the last observation.
    /// - Returns: ``DetectorEvent/ended(_:_:)`` or ``DetectorEvent/suppressed``; nil when no stall was in progress.
    package mutating func finish(at now: UInt64, ignoreBefore: UInt64 = 0, _ processPause: ProcessPause? = nil) -> DetectorEvent?
    {
        let last = activeStall
        let interval = last.flatMap { self.interval(of: $0.lead) }
        let restoreUntil = restoreUntil
        self = StallDetector(rules: rules, ignoreBefore: max(self.ignoreBefore, ignoreBefore))
        self.restoreUntil = restoreUntil
        guard let last, let interval else { return nil }
        return last.isMuted ? .suppressed : .ended(last, interval.ended(at: now, processPause))
    }

    private mutating func handle(_ event: RuleEvent?, of kind: StallKind, at now: UInt64, _ events: inout DetectorEvents) {
        switch event {
        case nil, .nothing: break
        case .suspected: events.appendSuspicion()
        case .stalled: found(kind, at: now, &events)
        case .ended(let interval):
            if activeStall?.lead == kind { close(interval, at: now, &events) }
        }
    }

    private mutating func found(_ kind: StallKind, at now: UInt64, _ events: inout DetectorEvents) {
        // A callout that stalls is not a starvation, however long it takes.
        if kind == .starvation, activeStall?.lead == .callout { return }
        let wasMuted = interval(of: kind).flatMap { endEarlier(than: kind, $0, at: now, &events) }
        guard var stall = activeStall else {
            let isMuted = wasMuted ?? isRestoring(at: now)
            let threshold = strategies.threshold(of: kind)
            let stall = ActiveStall(lead: kind, kinds: StallKinds(kind), thresholdNanoseconds: threshold, isMuted: isMuted)
            activeStall = stall
            if !isMuted, let interval = self.interval(of: kind) { events.append(.opened(stall, interval)) }
            return
        }
        stall.kinds.insert(StallKinds(kind))
        if kind < stall.lead {
            stall.lead = kind
            stall.thresholdNanoseconds = strategies.threshold(of: kind)
        }
        activeStall = stall
        events.updateOpened(stall)
    }

    /// A more exact rule takes over the stall, or begins another: if the stall's duration before that was long enough for a
    /// stall, it ends with the beginning of the new one and is reported.
    ///
    /// Only callouts and starvations know their beginning well enough for that; a ping may be sent during a stall that others
    /// have found already. A starvation that was not long enough is dropped: what was found was the callout all along.
    /// - Returns: whether the stall that was ended was muted, and so is the one that follows it at once; nil if no stall was
    ///   ended.
    private mutating func endEarlier(
        than kind: StallKind,
        _ interval: StallInterval,
        at now: UInt64,
        _ events: inout DetectorEvents
    ) -> Bool? {
        guard kind <= .starvation, let stall = activeStall, kind < stall.lead, let earlier = self.interval(of: stall.lead) else {
            return nil
        }
        let part = earlier.part(before: interval)
        if part.lengthSinceLikely >= stall.thresholdNanoseconds {
            close(part, at: now, exceptFor: kind, &events)
            return stall.isMuted
        }
        if stall.lead == .starvation {
            let threshold = strategies.threshold(of: kind)
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
        _ events: inout DetectorEvents
    ) {
        guard let last = activeStall else { return }
        activeStall = nil
        if last.isMuted {
            events.append(.suppressed)
        } else {
            events.append(.ended(last, interval))
            if rules.restoreNanoseconds > 0 { restoreUntil = now.saturatingSum(rules.restoreNanoseconds) }
        }
        beginAll(notBefore: interval.until, exceptFor: kind)
    }

    /// The second condition is true unless the clock went back; a clock change must not silence the loop for long.
    private func isRestoring(at now: UInt64) -> Bool { now < restoreUntil && restoreUntil - now <= rules.restoreNanoseconds }

    private mutating func beginAll(notBefore time: UInt64, exceptFor kind: StallKind? = nil) {
        ignoreBefore = max(ignoreBefore, time)
        strategies.begin(notBefore: ignoreBefore, exceptFor: kind)
    }

    package func interval(of kind: StallKind) -> StallInterval? { strategies.interval(of: kind) }
}
