internal import LagActivity

/// Decides from looks at one loop's beacon whether the loop is stalled. Pure: no clock, no thread, no memory of its own.
///
/// The idea in a sentence: a loop is stalled when N waits in a row ended by timeout and its activity word never
/// changed, and it has been at it for N intervals.
///
/// Each wait of the watchdog ends at a tick; ``look(_:at:counts:lost:)`` is called with what the beacon says then.
/// - *idle*: the loop waits for events, or does not run.
/// - *working*: the loop was seen at work at a certain word, so many timeouts ago.
/// - *stalled*: it was, and that was said; the end is awaited.
/// - *muted*: a stall within the restore interval. If it ends there it is only counted; if it outlives the interval it
///   is reported after all, because a hang must not stay silent.
///
/// Time going wrong: a `now` before the start of the work, or a start in the future, gives an elapsed time of zero,
/// never a wrapped-around one. A wait that ended late is not a timeout (`counts` is false then), and its time is not held
/// against the loop (`lost`): the process may have stood still as a whole.
package struct StallDetector: Sendable {
    package enum Verdict: Sendable, Equatable {
        case nothing
        /// The first timeout: prepare for a capture.
        case suspected
        /// A stall, since that time.
        case stalled(since: UInt64)
        /// A stall that has lasted long enough to be told before its end.
        case hanging
        /// It is over; `word` is where the loop stood.
        case ended(since: UInt64, until: UInt64, word: UInt64)
        /// A stall within the restore interval is over: counted only.
        case suppressed
    }

    package enum State: Sendable, Equatable {
        case idle
        case working(Stretch, timeouts: Int)
        case stalled(Stretch, told: Bool)
        case muted(Stretch)
    }

    /// What a watch that ends leaves behind.
    package enum Remainder: Sendable, Equatable {
        case nothing
        case stalled(since: UInt64, word: UInt64)
        case suppressed
    }

    package let rule: DetectionRule
    package private(set) var state = State.idle
    /// Until when stalls are only counted.
    private var restoreUntil: UInt64 = 0

    package init(rule: DetectionRule) { self.rule = rule }

    package var isStalled: Bool { if case .stalled = state { true } else { false } }

    /// A time, other than the next tick, at which a look is wanted: the moment the threshold is reached once only one
    /// timeout is missing, or the moment a stall becomes one to be told. If that is past, at once: a wait of no length is
    /// a timeout like any other, and without it a stretch that began right after a look would be found an interval late.
    package var nextLook: UInt64? {
        switch state {
        case .working(let stretch, let timeouts) where timeouts >= rule.timeouts - 1:
            stretch.time(ofLength: rule.thresholdNanoseconds)
        case .stalled(let stretch, told: false): stretch.time(ofLength: rule.hangNanoseconds)
        default: nil
        }
    }

    /// Whether a look that finds the loop at work at another word need not come to the detector at once, but with the next
    /// look, by ``moveOn(to:at:)``: no stall is in progress, and no look is wanted before the next tick.
    var mayBePassedBy: Bool {
        switch state {
        case .idle, .working: rule.timeouts > 1
        case .stalled, .muted: false
        }
    }

    /// The loop was at work at another word, at that time.
    mutating func moveOn(to reading: BeaconReading, at seen: UInt64) {
        state = .working(Stretch(reading, at: seen, lost: 0), timeouts: 0)
    }

    /// Looks at the loop.
    /// - Parameters:
    ///   - counts: whether a wait of the watchdog just ended on time, so that standing still is a timeout.
    ///   - lost: the length of the wait that just ended, if it ended too late; else 0.
    package mutating func look(_ reading: BeaconReading, at now: UInt64, counts: Bool, lost: UInt64 = 0) -> Verdict {
        switch state {
        case .working(let stretch, let timeouts) where stretch.word == reading.word:
            return stand(stretch.goingOn(at: now, lost: lost), timeouts: timeouts, at: now, counts: counts)
        case .stalled(let stretch, let told) where stretch.word == reading.word:
            let present = stretch.goingOn(at: now, lost: lost)
            let tells = !told && present.length(at: now) >= rule.hangNanoseconds
            state = .stalled(present, told: told || tells)
            return tells ? .hanging : .nothing
        case .muted(let stretch) where stretch.word == reading.word:
            return mute(stretch.goingOn(at: now, lost: lost), at: now)
        case .idle, .working:
            begin(reading, at: now, lost: lost)
            return .nothing
        case .muted:
            begin(reading, at: now, lost: lost)
            return .suppressed
        case .stalled(let stretch, _):
            begin(reading, at: now, lost: lost)
            if rule.restoreNanoseconds > 0 { restoreUntil = now.saturatingSum(rule.restoreNanoseconds) }
            return .ended(since: stretch.since, until: stretch.end(by: reading, at: now), word: stretch.word)
        }
    }

    /// The watch ends: a stall in progress ends with it, so far as it got.
    package mutating func finish() -> Remainder {
        defer { state = .idle }
        return switch state {
        case .idle, .working: .nothing
        case .stalled(let stretch, _): .stalled(since: stretch.since, word: stretch.word)
        case .muted: .suppressed
        }
    }

    private mutating func stand(_ stretch: Stretch, timeouts before: Int, at now: UInt64, counts: Bool) -> Verdict {
        let timeouts = counts ? before + 1 : before
        state = .working(stretch, timeouts: timeouts)
        guard counts else { return .nothing }
        if timeouts >= rule.timeouts, stretch.length(at: now) >= rule.thresholdNanoseconds { return mute(stretch, at: now) }
        return timeouts == 1 ? .suspected : .nothing
    }

    /// A stall: reported, unless the restore interval of the one before is not over.
    private mutating func mute(_ stretch: Stretch, at now: UInt64) -> Verdict {
        // The second condition holds unless the clock went back; it must not silence the loop for long.
        if now < restoreUntil, restoreUntil - now <= rule.restoreNanoseconds {
            state = .muted(stretch)
            return .nothing
        }
        state = .stalled(stretch, told: false)
        return .stalled(since: stretch.since)
    }

    private mutating func begin(_ reading: BeaconReading, at now: UInt64, lost: UInt64) {
        state = reading.isWorking ? .working(Stretch(reading, at: now, lost: lost), timeouts: 0) : .idle
    }
}
