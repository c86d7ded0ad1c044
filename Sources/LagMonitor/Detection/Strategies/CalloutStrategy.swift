internal import LagActivity
internal import LagModel

/// The observer-and-semaphore rule: a loop is stalled if N waits in a row ended by timeout and its activity word never changed,
/// and it has been in this activity for N intervals.
///
/// - *idle*: the loop waits for events, or does not run.
/// - *working*: the loop was seen working at a certain word, some timeouts ago.
/// - *stalled*: it is stalled, and this was reported; the end is awaited.
///
/// If time goes wrong (a `now` before the start of the work, or a start in the future), the elapsed time is zero; it never wraps
/// around. A wait that ended late is not a timeout, and its time does not count for the loop.
///
/// The rule is that of the observer-and-semaphore watchdog ("three times 50 ms in a row"); see ``TimeoutRule``.
package struct CalloutStrategy: DetectionStrategy {
    package enum State: Sendable, Equatable {
        case idle
        case working(StallInterval, word: UInt64, timeouts: Int)
        case stalled(StallInterval, word: UInt64)
    }

    package let rule: TimeoutRule
    package private(set) var state = State.idle

    package init(rule: TimeoutRule) { self.rule = rule }

    package var thresholdNanoseconds: UInt64 { rule.thresholdNanoseconds }

    package var interval: StallInterval? {
        switch state {
        case .idle: nil
        case .working(let interval, _, _), .stalled(let interval, _): interval
        }
    }

    package var isStalled: Bool { if case .stalled = state { true } else { false } }

    package var isSuspicious: Bool {
        switch state {
        case .idle: false
        case .working(let interval, _, let timeouts): timeouts > 0 || isHalfway(interval)
        case .stalled: true
        }
    }

    /// The time at which the threshold is reached, once only one timeout is missing. If that is past, at once: a wait of zero
    /// length is a timeout like any other. Without it, a stretch that began right after an observation would be found an interval
    /// late.
    package var nextPoll: UInt64? {
        switch state {
        case .working(let interval, _, let timeouts) where timeouts >= rule.timeouts - 1:
            // The only timeout would come too late for closer observation.
            interval.time(
                ofLength: rule.timeouts > 1 || isHalfway(interval) ? rule.thresholdNanoseconds : rule.thresholdNanoseconds / 2
            )
        default: nil
        }
    }

    private func isHalfway(_ interval: StallInterval) -> Bool {
        interval.length(at: interval.until) >= rule.thresholdNanoseconds / 2
    }

    /// The loop was working at a new word at that time.
    mutating func recordProgress(to reading: BeaconReading, at seen: UInt64, ignoreBefore: UInt64) {
        state = .working(Self.interval(of: reading, at: seen, ignoreBefore: ignoreBefore, nil), word: reading.word, timeouts: 0)
    }

    package mutating func observe(_ observation: Observation, ignoreBefore: UInt64) -> RuleEvent {
        switch state {
        case .working(var interval, let word, let timeouts) where word == observation.reading.word:
            let isTimeout =
                observation.processPause == nil && (observation.isTick || nextPoll.map { $0 <= observation.now } ?? false)
            // A wait that was late because the watchdog had no processor counts as many timeouts as intervals passed in it, if
            // the loop was in this stretch meanwhile.
            let since = max(interval.until, Self.provedSince(observation))
            let passed = Int(clamping: observation.now.saturatingDifference(since) / rule.intervalNanoseconds)
            interval.extend(at: observation.now, observation.processPause)
            Self.refine(&interval, by: observation.reading)
            let counted = isTimeout ? timeouts + min(max(1, passed), rule.timeouts) : timeouts
            return update(interval, word, timeouts: counted, isFirst: timeouts == 0, at: observation.now, counts: isTimeout)
        case .stalled(var interval, let word) where word == observation.reading.word:
            interval.extend(at: observation.now, observation.processPause)
            Self.refine(&interval, by: observation.reading)
            state = .stalled(interval, word: word)
            return .nothing
        case .stalled(let interval, let word):
            begin(observation, ignoreBefore: ignoreBefore)
            if let last = observation.reading.sampled?.last, last.word == word, let end = last.ended {
                var sampled = interval
                sampled.refine(by: last)
                return .ended(sampled.ended(within: end, observation.processPause))
            }
            return .ended(
                interval.ended(at: Self.end(of: interval, by: observation.reading, at: observation.now), observation.processPause)
            )
        case .idle, .working:
            begin(observation, ignoreBefore: ignoreBefore)
            return recordUnseenTimeouts(observation)
        }
    }

    package mutating func begin(notBefore ignoreBefore: UInt64) {
        switch state {
        case .idle: break
        case .working(var interval, let word, let timeouts):
            interval.begin(notBefore: ignoreBefore)
            state = .working(interval, word: word, timeouts: timeouts)
        case .stalled(var interval, let word):
            interval.begin(notBefore: ignoreBefore)
            state = .working(interval, word: word, timeouts: 0)
        }
    }

    private mutating func update(
        _ interval: StallInterval,
        _ word: UInt64,
        timeouts: Int,
        isFirst: Bool,
        at now: UInt64,
        counts: Bool
    ) -> RuleEvent {
        guard counts, timeouts >= rule.timeouts, interval.length(at: now) >= rule.thresholdNanoseconds else {
            state = .working(interval, word: word, timeouts: timeouts)
            return counts && isFirst ? .suspected : .nothing
        }
        state = .stalled(interval, word: word)
        return .stalled
    }

    private mutating func begin(_ observation: Observation, ignoreBefore: UInt64) {
        guard observation.reading.isWorking else {
            state = .idle
            return
        }
        let interval = Self.interval(
            of: observation.reading,
            at: observation.now,
            ignoreBefore: ignoreBefore,
            observation.processPause
        )
        state = .working(interval, word: observation.reading.word, timeouts: 0)
    }

    /// A stretch that is seen for the first time may already have lasted for all timeouts, if the watchdog had no processor
    /// meanwhile: by the time of the next observation it may be over. (Only if the loop itself published the beginning.)
    private mutating func recordUnseenTimeouts(_ observation: Observation) -> RuleEvent {
        guard case .working(let interval, let word, _) = state, observation.processPause == nil,
            observation.reading.sampled == nil, !observation.mayBeAtRest
        else { return .nothing }
        let passed = Int(clamping: interval.length(at: observation.now) / rule.intervalNanoseconds)
        guard passed >= rule.timeouts else { return .nothing }
        return update(interval, word, timeouts: rule.timeouts, isFirst: false, at: observation.now, counts: true)
    }

    /// A stretch of work that is seen for the first time.
    private static func interval(of reading: BeaconReading, at now: UInt64, ignoreBefore: UInt64, _ processPause: ProcessPause?)
        -> StallInterval
    {
        // If a loop publishes no time, the beginning is when it was first seen. It may have begun after the scan did; a time
        // further ahead is ignored.
        let published = reading.calloutNanoseconds
        let isCredible = published > 0 && published <= now.saturatingSum(Observation.longestRoundNanoseconds)
        let since = max(isCredible ? published : now, ignoreBefore)
        guard isCredible, let stretch = reading.sampled?.stretch(word: reading.word, publishedNanoseconds: published) else {
            return StallInterval(since: since, at: now, processPause)
        }
        return StallInterval(
            since: since,
            earliest: max(stretch.began.earliest, ignoreBefore),
            likely: stretch.mayHaveBegun,
            latestBegin: stretch.began.latest,
            at: now,
            processPause
        )
    }

    /// Since when a sampled loop was certainly in its present stretch of work: two samples that show the same prove nothing about
    /// the time between them. 0: the loop publishes its stretches itself.
    private static func provedSince(_ observation: Observation) -> UInt64 {
        let reading = observation.reading
        guard let sampled = reading.sampled else { return 0 }
        let stretch = sampled.stretch(word: reading.word, publishedNanoseconds: reading.calloutNanoseconds)
        return stretch?.provedSince ?? observation.now
    }

    /// For a sampled loop, more may be known about the beginning by now.
    private static func refine(_ interval: inout StallInterval, by reading: BeaconReading) {
        guard let stretch = reading.sampled?.stretch(word: reading.word, publishedNanoseconds: reading.calloutNanoseconds) else {
            return
        }
        interval.refine(by: stretch)
    }

    /// When a stretch ended, according to what the loop publishes afterwards.
    ///
    /// The loop answers an arming at its next activity, and it publishes when its next stretch began: the end is the earlier of
    /// the two.
    private static func end(of interval: StallInterval, by reading: BeaconReading, at now: UInt64) -> UInt64 {
        var end = max(now, interval.since)
        if let answer = reading.answer(after: interval.until, since: interval.since) { end = min(end, answer) }
        if reading.calloutNanoseconds > interval.since { end = min(end, reading.calloutNanoseconds) }
        return end
    }
}
