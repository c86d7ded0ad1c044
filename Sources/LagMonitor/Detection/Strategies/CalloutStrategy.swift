internal import LagActivity

/// The observer and the semaphore: a loop is stalled when N waits in a row ended by timeout and its activity word never
/// changed, and it has been at it for N intervals.
///
/// - *idle*: the loop waits for events, or does not run.
/// - *working*: the loop was seen at work at a certain word, so many timeouts ago.
/// - *stalled*: it was, and that was said; the end is awaited.
///
/// Time going wrong: a `now` before the start of the work, or a start in the future, gives an elapsed time of zero,
/// never a wrapped-around one. A wait that ended late is not a timeout, and its time is not held against the loop.
///
/// The rule is that of the seeds ("three times 50 ms in a row"); see ``TimeoutRule``.
package struct CalloutStrategy: DetectionStrategy {
    package enum State: Sendable, Equatable {
        case idle
        case working(OngoingInterval, word: UInt64, timeouts: Int)
        case stalled(OngoingInterval, word: UInt64)
    }

    package static let kind = StallKind.callout

    package let rule: TimeoutRule
    package private(set) var state = State.idle

    package init(rule: TimeoutRule) { self.rule = rule }

    package var thresholdNanoseconds: UInt64 { rule.thresholdNanoseconds }

    package var span: OngoingInterval? {
        switch state {
        case .idle: nil
        case .working(let span, _, _), .stalled(let span, _): span
        }
    }

    package var isStalled: Bool { if case .stalled = state { true } else { false } }

    package var isSuspicious: Bool {
        switch state {
        case .idle: false
        case .working(let span, _, let timeouts): timeouts > 0 || isHalfway(span)
        case .stalled: true
        }
    }

    /// The moment the threshold is reached, once only one timeout is missing. If that is past, at once: a wait of no length is
    /// a timeout like any other, and without it a stretch that began right after a look would be found an interval late.
    package var nextPoll: UInt64? {
        switch state {
        case .working(let span, _, let timeouts) where timeouts >= rule.timeouts - 1:
            // The only timeout there is would come too late for closer looks.
            span.time(ofLength: rule.timeouts > 1 || isHalfway(span) ? rule.thresholdNanoseconds : rule.thresholdNanoseconds / 2)
        default: nil
        }
    }

    private func isHalfway(_ span: OngoingInterval) -> Bool { span.length(at: span.seen) >= rule.thresholdNanoseconds / 2 }

    /// The loop was at work at another word, at that time.
    mutating func recordProgress(to reading: BeaconReading, at seen: UInt64, ignoreBefore: UInt64) {
        state = .working(Self.span(of: reading, at: seen, ignoreBefore: ignoreBefore, nil), word: reading.word, timeouts: 0)
    }

    package mutating func observe(_ observation: Observation, ignoreBefore: UInt64) -> DetectorEvent {
        switch state {
        case .working(var span, let word, let timeouts) where word == observation.reading.word:
            let isTimeout = observation.processPause == nil && (observation.isTick || nextPoll.map { $0 <= observation.now } ?? false)
            // A wait that was late because the watchdog had no processor is as many timeouts as intervals went by in it.
            let passed = Int(clamping: observation.now.saturatingDifference(span.seen) / rule.intervalNanoseconds)
            span.extend(at: observation.now, observation.processPause)
            let counted = isTimeout ? timeouts + min(max(1, passed), rule.timeouts) : timeouts
            return update(span, word, timeouts: counted, isFirst: timeouts == 0, at: observation.now, counts: isTimeout)
        case .stalled(var span, let word) where word == observation.reading.word:
            span.extend(at: observation.now, observation.processPause)
            state = .stalled(span, word: word)
            return .nothing
        case .stalled(let span, _):
            begin(observation, ignoreBefore: ignoreBefore)
            return .ended(StallInterval(span, until: Self.end(of: span, by: observation.reading, at: observation.now), observation.processPause))
        case .idle, .working:
            begin(observation, ignoreBefore: ignoreBefore)
            return .nothing
        }
    }

    package mutating func begin(notBefore ignoreBefore: UInt64) {
        switch state {
        case .idle: break
        case .working(var span, let word, let timeouts):
            span.begin(notBefore: ignoreBefore)
            state = .working(span, word: word, timeouts: timeouts)
        case .stalled(var span, let word):
            span.begin(notBefore: ignoreBefore)
            state = .working(span, word: word, timeouts: 0)
        }
    }

    private mutating func update(
        _ span: OngoingInterval,
        _ word: UInt64,
        timeouts: Int,
        isFirst: Bool,
        at now: UInt64,
        counts: Bool
    ) -> DetectorEvent {
        guard counts, timeouts >= rule.timeouts, span.length(at: now) >= rule.thresholdNanoseconds else {
            state = .working(span, word: word, timeouts: timeouts)
            return counts && isFirst ? .suspected : .nothing
        }
        state = .stalled(span, word: word)
        return .stalled
    }

    private mutating func begin(_ observation: Observation, ignoreBefore: UInt64) {
        guard observation.reading.isWorking else {
            state = .idle
            return
        }
        let span = Self.span(of: observation.reading, at: observation.now, ignoreBefore: ignoreBefore, observation.processPause)
        state = .working(span, word: observation.reading.word, timeouts: 0)
    }

    /// A stretch of work that is seen for the first time.
    private static func span(of reading: BeaconReading, at now: UInt64, ignoreBefore: UInt64, _ processPause: ProcessPause?) -> OngoingInterval {
        // A loop that tells no time began, as far as is known, when it was first seen. It may have begun after the round of looks
        // did; a time further ahead is none.
        let told = reading.calloutNanoseconds
        let isReported = told > 0 && told <= now.saturatingSum(Observation.longestRoundNanoseconds)
        return OngoingInterval(since: max(isReported ? told : now, ignoreBefore), at: now, processPause)
    }

    /// When a stretch ended, by what the loop says afterwards.
    ///
    /// The loop answers an arming at its next activity, and it tells when its next stretch began: the earlier of the two is the end.
    private static func end(of span: OngoingInterval, by reading: BeaconReading, at now: UInt64) -> UInt64 {
        var end = max(now, span.since)
        if let answer = reading.answer(after: span.seen, since: span.since) { end = min(end, answer) }
        if reading.calloutNanoseconds > span.since { end = min(end, reading.calloutNanoseconds) }
        return end
    }
}
