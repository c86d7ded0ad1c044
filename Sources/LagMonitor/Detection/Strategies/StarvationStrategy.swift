internal import LagActivity
internal import LagModel

/// Many callouts in a row, each of them short: the activity word changes, but the loop has not been idle for the threshold, so
/// work that waits for it to be idle waits that long.
///
/// The loop is idle during a wait for events (however short), after the end of the run, and in an expected block; the beacon
/// shows when it was last idle. If its waits do not prove that it was idle, ``RestMeter`` decides. A callout that is a stall by
/// itself is not part of it: see ``StallDetector``.
package struct StarvationStrategy: DetectionStrategy {
    package let thresholdNanoseconds: UInt64
    package private(set) var interval: StallInterval?
    package private(set) var isStalled = false
    /// When the idle time ended after which `interval` began.
    private var woke: UInt64 = 0
    /// The turns before the one in which `interval` began.
    private var turnsBefore: UInt64 = 0
    /// Whether the last observation found the loop between two runs. A loop that is run for one source at a time is there only
    /// for moments.
    private var isBetweenRuns = false

    package init(thresholdNanoseconds: UInt64) { self.thresholdNanoseconds = thresholdNanoseconds }

    package var isSuspicious: Bool { isStalled }

    package var nextPoll: UInt64? { isStalled ? nil : interval?.time(ofLength: thresholdNanoseconds) }

    package mutating func observe(_ observation: Observation, ignoreBefore: UInt64) -> RuleEvent {
        let reading = observation.busyTime.map { observation.reading.awake(since: $0.since) } ?? observation.reading
        if reading.activity == .notRunning, interval != nil, reading.wokeNanoseconds == woke, !isBetweenRuns {
            isBetweenRuns = true
            interval?.add(observation.processPause, until: observation.now)
            return .nothing
        }
        isBetweenRuns = false
        // Without published wakes, starvation cannot be detected; a wake in the future is ignored.
        let isBusy = reading.isWorking && reading.wokeNanoseconds > 0 && reading.wokeNanoseconds <= observation.now
        guard isBusy, var present = interval, reading.wokeNanoseconds == woke else {
            let event = end(reading, observation)
            woke = reading.wokeNanoseconds
            interval = isBusy ? StallInterval(since: max(woke, ignoreBefore), at: observation.now, observation.processPause) : nil
            turnsBefore = 0
            countTurns(observation, isFirst: ignoreBefore > woke)
            return event
        }
        let isLater = ignoreBefore > present.since
        present.begin(notBefore: ignoreBefore)
        present.extend(at: observation.now, observation.processPause)
        interval = present
        countTurns(observation, isFirst: isLater || present.turns == nil)
        guard !isStalled, present.length(at: observation.now) >= thresholdNanoseconds else { return .nothing }
        isStalled = true
        return .stalled
    }

    package mutating func begin(notBefore ignoreBefore: UInt64) {
        interval?.begin(notBefore: ignoreBefore)
        interval?.turns = nil
        isStalled = false
    }

    /// - Parameter isFirst: the present turn is the interval's first.
    private mutating func countTurns(_ observation: Observation, isFirst: Bool) {
        guard let turns = observation.busyTime?.turns else { return }
        if isFirst { turnsBefore = turns - 1 }
        interval?.turns = turns.saturatingDifference(turnsBefore)
    }

    /// The loop has been idle since the last observation.
    /// - Parameter reading: what the observation shows of the loop's idle times.
    private mutating func end(_ reading: BeaconReading, _ observation: Observation) -> RuleEvent {
        guard isStalled, let interval else { return .nothing }
        isStalled = false
        var end = max(observation.now, interval.since)
        // It answers the arming when it becomes idle; without an answer, its next wake is an upper bound.
        if let answer = reading.answer(after: interval.until, since: interval.since) { end = min(end, answer) }
        if reading.wokeNanoseconds > interval.since { end = min(end, reading.wokeNanoseconds) }
        // If the thread's sleeps have shown that it was idle, that was at some time since it was last seen awake.
        guard observation.busyTime == nil else {
            return .ended(interval.ended(at: min(interval.until, end), latest: end, observation.processPause))
        }
        return .ended(interval.ended(at: end, observation.processPause))
    }
}
