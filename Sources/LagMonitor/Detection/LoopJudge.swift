/// Puts together what the rules say of one loop: one stall is one incident, whichever rules find it. Pure.
///
/// - What several rules find at the same time is one incident, which names them all. The one that knows beginning and end most
///   exactly *leads*: the incident's times, threshold and kind are that rule's, and it is over when that rule says so.
/// - What was told once is not told again: nothing before the end of an incident counts for any rule (`floor`).
/// - `callout` and `starvation` are two troubles. A callout that stalls ends the starvation around it, and after the callout
///   starvation begins to count anew.
/// - After an incident that was told, further ones are only counted for the restore interval. If one ends there it is
///   *muted*; if it outlives the interval it is told after all, because a hang must not stay silent.
package struct LoopJudge: Sendable {
    package let rules: WatchRules
    package private(set) var callout: CalloutStrategy?
    package private(set) var starvation: StarvationStrategy?
    package private(set) var pingWhileWaiting: PingStrategy?
    package private(set) var ping: PingStrategy?
    package private(set) var frame: FrameStrategy?
    package private(set) var sampling: SamplingStrategy?

    package private(set) var incident: Incident?
    /// Nothing before that counts: a grace, a pause, the last incident.
    package private(set) var floor: UInt64
    /// Until when incidents are only counted.
    private var restoreUntil: UInt64 = 0

    /// - Parameter floor: nothing before that counts.
    package init(rules: WatchRules, floor: UInt64 = 0) {
        self.rules = rules
        self.floor = floor
        callout = rules.callout.map { CalloutStrategy(rule: $0) }
        starvation = rules.starvationNanoseconds.map { StarvationStrategy(thresholdNanoseconds: $0) }
        pingWhileWaiting = rules.pingWhileWaiting.map { PingStrategy(rule: $0, whileWaiting: true) }
        ping = rules.ping.map { PingStrategy(rule: $0, whileWaiting: false) }
        frame = rules.frame.map { FrameStrategy(rule: $0) }
        sampling = rules.sampling.map { SamplingStrategy(rule: $0) }
    }

    /// Whether an incident is in progress that is, or will be, told.
    package var isStalled: Bool { incident.map { !$0.isMuted } ?? false }

    /// A stall of more intervals than that needs no closer looks: what a blackout leaves open is little in comparison.
    private static let closeTicks: UInt64 = 64

    /// Whether closer looks than once an interval are worth their cost: the shorter the waits, the better is known what a
    /// blackout took.
    var isSuspicious: Bool {
        if let incident, let span = span(of: incident.lead) {
            // These two have no exact beginning or are long: there an interval does not matter.
            guard incident.lead != .starvation, incident.lead != .sample else { return false }
            return !incident.isTold && span.length(at: span.seen) < Self.closeTicks * rules.tickNanoseconds
        }
        return (callout?.isSuspicious ?? false) || (ping?.isSuspicious ?? false) || (pingWhileWaiting?.isSuspicious ?? false)
            || (frame?.isSuspicious ?? false)
    }

    /// Whether a look that finds the loop at work at another word need not come here at once, but with the next look, by
    /// ``moveOn(to:at:)``: no stall is in progress, and no look is wanted before the next tick.
    var mayBeGlanced: Bool { incident == nil && rules.allowGlances }

    /// Times, other than the next tick, at which a look is wanted.
    package var nextLook: UInt64? {
        var next = UInt64.max
        if let time = callout?.nextLook { next = min(next, time) }
        if callout?.isStalled != true, let time = starvation?.nextLook { next = min(next, time) }
        if let time = pingWhileWaiting?.nextLook { next = min(next, time) }
        if let time = ping?.nextLook { next = min(next, time) }
        if let time = frame?.nextLook { next = min(next, time) }
        if let time = sampling?.nextLook { next = min(next, time) }
        if let incident {
            if incident.isMuted {
                next = min(next, restoreUntil)
            } else if !incident.isTold, let span = span(of: incident.lead) {
                next = min(next, span.time(ofLength: rules.hangNanoseconds))
            }
        }
        return next == .max ? nil : next
    }

    /// The loop was at work at another word, at that time.
    mutating func moveOn(to reading: BeaconReading, at seen: UInt64) { callout?.moveOn(to: reading, at: seen, floor: floor) }

    /// Shows the loop to every rule.
    package mutating func look(_ sight: Sight) -> Judgement {
        var judgement = Judgement()
        // What has ended is past, unless the clock went back: only a grace lies ahead. (A look's time may be older than the end of
        // the last incident, by what the looks at other loops took.)
        let ahead = sight.now.saturatingSum(rules.graceNanoseconds)
        if floor > ahead.saturatingSum(Sight.longestRoundNanoseconds) { floor = ahead }
        note(callout?.look(sight, floor: floor), of: .callout, at: sight.now, &judgement)
        // A callout that stalls is no starvation; when it is over, the floor is its end.
        if callout?.isStalled != true {
            note(starvation?.look(sight, floor: floor), of: .starvation, at: sight.now, &judgement)
        }
        note(pingWhileWaiting?.look(sight, floor: floor), of: .ping, at: sight.now, &judgement)
        note(ping?.look(sight, floor: floor), of: .ping, at: sight.now, &judgement)
        note(frame?.look(sight, floor: floor), of: .frame, at: sight.now, &judgement)
        note(sampling?.look(sight, floor: floor), of: .sample, at: sight.now, &judgement)
        judgement.wantsPing = (pingWhileWaiting?.wantsPing ?? false) || (ping?.wantsPing ?? false)
        if var present = incident {
            if present.isMuted, !isRestoring(at: sight.now) {
                present.isMuted = false
                judgement.opened = present.lead
            } else if !present.isMuted, !present.isTold, judgement.opened == nil, let span = span(of: present.lead),
                span.length(at: sight.now) >= rules.hangNanoseconds
            {
                present.isTold = true
                judgement.hanging = ended(present, Extent(span, until: sight.now))
            }
            incident = present
        }
        return judgement
    }

    /// A stretch of work is over of which the loop itself noted that it was long. To be called before ``look(_:)``, which sees what
    /// came after it.
    ///
    /// That tells no more than the looks do, as long as they come: it is for the watchdog that had no processor meanwhile.
    package mutating func lookBack(since: UInt64, until: UInt64, _ sight: Sight) -> Judgement {
        var judgement = Judgement()
        // It may have ended after the round of looks began.
        guard let callout, until > floor, since <= until else { return judgement }
        // Another process's loop may note anything.
        guard until <= sight.now.saturatingSum(Sight.longestRoundNanoseconds) else { return judgement }
        let isSeen = callout.span.map { since <= $0.since && $0.since < until } ?? false
        // Then its end will be told by the next look.
        if isSeen && callout.isStalled { return judgement }
        var span = isSeen ? callout.span! : Span(since: since, seen: since)
        span.begin(notBefore: floor)
        let extent = Extent(span, until: until, sight.blackout)
        guard extent.lengthAtLeast >= callout.thresholdNanoseconds, incident?.lead != .callout else { return judgement }
        let wasMuted = endEarlier(than: .callout, span, at: sight.now, &judgement)
        var present = Incident(
            lead: .callout,
            kinds: StallKinds(.callout),
            thresholdNanoseconds: callout.thresholdNanoseconds,
            isMuted: wasMuted ?? isRestoring(at: sight.now)
        )
        if let other = incident {
            // Found by another rule as well, and told with its identity.
            present.kinds.formUnion(other.kinds)
            present.isMuted = other.isMuted
            incident = present
            close(extent, at: sight.now, &judgement)
            return judgement
        }
        incident = nil
        if present.isMuted {
            judgement.isSuppressed = true
        } else {
            judgement.passed = ended(present, extent)
            if rules.restoreNanoseconds > 0 { restoreUntil = sight.now.saturatingSum(rules.restoreNanoseconds) }
        }
        beginAll(notBefore: until)
        return judgement
    }

    /// How far the incident got that is in progress; nil when there is none.
    func present(at now: UInt64) -> Ended? {
        guard let incident, let span = span(of: incident.lead) else { return nil }
        return ended(incident, Extent(span, until: now))
    }

    /// The incident that was just opened is none: a debugger holds the loop. Nothing before `now` counts.
    mutating func dismiss(at now: UInt64) {
        incident = nil
        beginAll(notBefore: now)
    }

    /// The watch ends or pauses: a stall in progress ends with it, so far as it got. Nothing before `floor` counts afterwards.
    /// - Parameter blackout: one since the last look.
    package mutating func finish(at now: UInt64, floor: UInt64 = 0, _ blackout: Blackout? = nil) -> Remainder {
        let last = incident
        let span = last.flatMap { self.span(of: $0.lead) }
        let restoreUntil = restoreUntil
        self = LoopJudge(rules: rules, floor: max(self.floor, floor))
        self.restoreUntil = restoreUntil
        guard let last, let span else { return .nothing }
        return last.isMuted ? .suppressed : .stalled(ended(last, Extent(span, until: now, blackout)))
    }

    private mutating func note(_ finding: Finding?, of kind: StallKind, at now: UInt64, _ judgement: inout Judgement) {
        switch finding {
        case nil, .nothing: break
        case .suspected: judgement.isSuspected = true
        case .stalled: found(kind, at: now, &judgement)
        case .ended(let extent):
            if incident?.lead == kind { close(extent, at: now, &judgement) }
        }
    }

    private mutating func found(_ kind: StallKind, at now: UInt64, _ judgement: inout Judgement) {
        // One callout that stalls is no starvation, however long it takes.
        if kind == .starvation, incident?.lead == .callout { return }
        let wasMuted = span(of: kind).flatMap { endEarlier(than: kind, $0, at: now, &judgement) }
        guard var present = incident else {
            let isMuted = wasMuted ?? isRestoring(at: now)
            let threshold = threshold(of: kind)
            incident = Incident(lead: kind, kinds: StallKinds(kind), thresholdNanoseconds: threshold, isMuted: isMuted)
            if !isMuted { judgement.opened = kind }
            return
        }
        present.kinds.insert(StallKinds(kind))
        if kind < present.lead {
            present.lead = kind
            present.thresholdNanoseconds = threshold(of: kind)
        }
        incident = present
    }

    /// A rule that knows better takes over the incident, or begins another: what the incident had lasted for before was long enough
    /// for a stall, then it ends with the beginning of the new one and is told.
    ///
    /// Only callouts and starvations know their beginning well enough for that; a ping may be given in the midst of what others have
    /// found already. A starvation that was not long enough is none: what was found was the callout all along.
    /// - Returns: whether the incident that was ended was muted, and so is what follows it at once; nil when none was.
    private mutating func endEarlier(
        than kind: StallKind,
        _ span: Span,
        at now: UInt64,
        _ judgement: inout Judgement
    ) -> Bool? {
        guard kind <= .starvation, let present = incident, kind < present.lead, let earlier = self.span(of: present.lead) else {
            return nil
        }
        let extent = Extent(earlier.part(before: span), until: span.since)
        if extent.lengthAtLeast >= present.thresholdNanoseconds {
            close(extent, at: now, exceptFor: kind, &judgement)
            return present.isMuted
        }
        if present.lead == .starvation {
            let threshold = threshold(of: kind)
            incident?.kinds.remove(StallKinds(.starvation))
            incident?.lead = kind
            incident?.thresholdNanoseconds = threshold
        }
        return nil
    }

    private mutating func close(
        _ extent: Extent,
        at now: UInt64,
        exceptFor kind: StallKind? = nil,
        _ judgement: inout Judgement
    ) {
        guard let last = incident else { return }
        incident = nil
        if last.isMuted {
            judgement.isSuppressed = true
        } else {
            judgement.ended = ended(last, extent)
            if rules.restoreNanoseconds > 0 { restoreUntil = now.saturatingSum(rules.restoreNanoseconds) }
        }
        beginAll(notBefore: extent.until, exceptFor: kind)
    }

    /// The second condition holds unless the clock went back; it must not silence the loop for long.
    private func isRestoring(at now: UInt64) -> Bool { now < restoreUntil && restoreUntil - now <= rules.restoreNanoseconds }

    private mutating func beginAll(notBefore time: UInt64, exceptFor kind: StallKind? = nil) {
        floor = max(floor, time)
        if kind != .callout { callout?.begin(notBefore: floor) }
        if kind != .starvation { starvation?.begin(notBefore: floor) }
        if kind != .ping {
            pingWhileWaiting?.begin(notBefore: floor)
            ping?.begin(notBefore: floor)
        }
        if kind != .frame { frame?.begin(notBefore: floor) }
        if kind != .sample { sampling?.begin(notBefore: floor) }
    }

    private func ended(_ incident: Incident, _ extent: Extent) -> Ended {
        Ended(kind: incident.lead, kinds: incident.kinds, extent: extent, thresholdNanoseconds: incident.thresholdNanoseconds)
    }

    package func span(of kind: StallKind) -> Span? {
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
