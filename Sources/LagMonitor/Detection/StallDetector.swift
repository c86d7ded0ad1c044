internal import LagActivity

/// Decides from looks at one loop's beacon whether the loop is stalled. Pure: no clock, no thread, no memory of its own.
///
/// The idea in a sentence: a loop is stalled when N waits in a row ended by timeout and its activity word never
/// changed, and it has been at it for N intervals.
///
/// Each wait of the watchdog ends at a tick; ``look(_:at:counts:)`` is called with what the beacon says then.
/// - *idle* — the loop waits for events, or does not run.
/// - *working* — the loop was seen at work at a certain word, so many timeouts ago.
/// - *stalled* — it was, and that was said; the end is awaited.
///
/// Time going wrong: a `now` before the start of the work, or a start in the future, gives an elapsed time of zero,
/// never a wrapped-around one; a wait that ended late (the caller's `counts` is false then) is not a timeout.
package struct StallDetector: Sendable {
    package enum Verdict: Sendable, Equatable {
        case nothing
        /// The first timeout: prepare for a capture.
        case suspected
        /// A stall, since that time.
        case stalled(since: UInt64)
        /// A stall that has lasted long enough to be told before its end.
        case hanging
        /// It is over.
        case ended(since: UInt64, until: UInt64)
        /// A stall within the restore interval: counted only.
        case suppressed
    }

    package enum State: Sendable, Equatable {
        case idle
        case working(word: UInt64, since: UInt64, timeouts: Int)
        case stalled(word: UInt64, since: UInt64, told: Bool)
        /// Stalled, but within the restore interval of the one before.
        case muted(word: UInt64)
    }

    package let rule: DetectionRule
    package private(set) var state = State.idle
    /// Until when stalls are only counted.
    private var restoreUntil: UInt64 = 0

    package init(rule: DetectionRule) { self.rule = rule }

    package var isStalled: Bool { if case .stalled = state { true } else { false } }

    /// A time, other than the next tick, at which a look is wanted: the moment the threshold is reached once only one
    /// timeout is missing, or the moment a stall becomes one to be told.
    package var deadline: UInt64? {
        switch state {
        case .working(_, let since, let timeouts) where timeouts >= rule.timeouts - 1:
            since &+ rule.thresholdNanoseconds
        case .stalled(_, let since, told: false): since &+ rule.hangNanoseconds
        default: nil
        }
    }

    /// Looks at the loop.
    /// - Parameter counts: whether a wait of the watchdog just ended on time, so that standing still is a timeout.
    package mutating func look(_ reading: BeaconReading, at now: UInt64, counts: Bool) -> Verdict {
        switch state {
        case .idle:
            begin(reading, at: now)
            return .nothing
        case .working(reading.word, let since, let timeouts): return still(since, timeouts, reading, now, counts)
        case .stalled(reading.word, let since, let told):
            guard !told, elapsed(since, now) >= rule.hangNanoseconds else { return .nothing }
            state = .stalled(word: reading.word, since: since, told: true)
            return .hanging
        case .muted(reading.word): return .nothing
        case .working, .muted:
            begin(reading, at: now)
            return .nothing
        case .stalled(_, let since, _):
            begin(reading, at: now)
            if rule.restoreNanoseconds > 0 { restoreUntil = now &+ rule.restoreNanoseconds }
            return .ended(since: since, until: end(of: since, reading, now))
        }
    }

    /// The watch ends: a stall in progress ends with it, so far as it got.
    package mutating func finish() -> (since: UInt64, word: UInt64)? {
        defer { state = .idle }
        if case .stalled(let word, let since, _) = state { return (since, word) }
        return nil
    }

    private mutating func still(_ since: UInt64, _ before: Int, _ reading: BeaconReading, _ now: UInt64, _ counts: Bool)
        -> Verdict
    {
        guard counts else { return .nothing }
        let timeouts = before + 1
        state = .working(word: reading.word, since: since, timeouts: timeouts)
        if timeouts >= rule.timeouts, elapsed(since, now) >= rule.thresholdNanoseconds {
            guard now >= restoreUntil else {
                state = .muted(word: reading.word)
                return .suppressed
            }
            state = .stalled(word: reading.word, since: since, told: false)
            return .stalled(since: since)
        }
        return timeouts == 1 ? .suspected : .nothing
    }

    private mutating func begin(_ reading: BeaconReading, at now: UInt64) {
        guard reading.activity.isWorking else {
            state = .idle
            return
        }
        // A loop that tells no time began, as far as is known, when it was first seen. A time in the future is none.
        let told = reading.calloutNanoseconds
        state = .working(word: reading.word, since: told > 0 && told <= now ? told : now, timeouts: 0)
    }

    /// The loop's own time of answering is the exact end. Without one, the start of what it does now comes closest.
    private func end(of since: UInt64, _ reading: BeaconReading, _ now: UInt64) -> UInt64 {
        if reading.answeredNanoseconds > since, reading.answeredNanoseconds <= now { return reading.answeredNanoseconds }
        if reading.calloutNanoseconds > since, reading.calloutNanoseconds <= now { return reading.calloutNanoseconds }
        return max(now, since)
    }

    private func elapsed(_ since: UInt64, _ now: UInt64) -> UInt64 { now > since ? now - since : 0 }
}
