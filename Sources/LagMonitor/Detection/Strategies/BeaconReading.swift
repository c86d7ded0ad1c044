internal import CLagBeacon
package import LagActivity
internal import LagModel

/// The content of a beacon at one moment.
package struct BeaconReading: Sendable, Equatable {
    /// Sequence and activity, for the rules.
    package private(set) var word: UInt64
    /// The same as in the beacon: they differ if work was found to keep no other work waiting (``atRest``).
    package let beaconWord: UInt64
    /// When the present stretch of work began; 0 if the loop does not publish it.
    package private(set) var calloutNanoseconds: UInt64
    /// When the loop last answered an arming; 0: never.
    package let answeredNanoseconds: UInt64
    /// When the loop's last idle time ended; 0 if the loop does not publish it.
    package let wokeNanoseconds: UInt64
    /// When the loop last answered a ping; 0: never.
    package let pongNanoseconds: UInt64
    /// What is known of the loop's times, if it publishes none itself.
    package var sampled: SampledStretches?

    package init(
        word: UInt64,
        calloutNanoseconds: UInt64,
        answeredNanoseconds: UInt64 = 0,
        wokeNanoseconds: UInt64 = 0,
        pongNanoseconds: UInt64 = 0
    ) {
        self.word = word
        beaconWord = word
        self.calloutNanoseconds = calloutNanoseconds
        self.answeredNanoseconds = answeredNanoseconds
        self.wokeNanoseconds = wokeNanoseconds
        self.pongNanoseconds = pongNanoseconds
    }

    /// Reads a live beacon: its times belong to `word` or to a later one, so a duration is never too long.
    init(_ beacon: UnsafePointer<clb_beacon>) {
        word = clb_beacon_word(beacon)
        beaconWord = word
        calloutNanoseconds = clb_beacon_callout_ns(beacon)
        answeredNanoseconds = clb_beacon_answered_ns(beacon)
        wokeNanoseconds = clb_beacon_woke_ns(beacon)
        pongNanoseconds = clb_beacon_pong_ns(beacon)
    }

    /// The same as if the loop were idle.
    var atRest: BeaconReading {
        var reading = self
        reading.word = beaconWord & ~0xff | UInt64(LoopActivity.waiting.rawValue)
        return reading
    }

    /// The same as if the stretch of work had begun at `time`, if it began before.
    func begun(notBefore time: UInt64) -> BeaconReading {
        var reading = self
        reading.calloutNanoseconds = max(calloutNanoseconds, time)
        return reading
    }

    /// The same for a loop that has not been idle since `time`, whatever it does now; 0: it is idle. For the rule that needs
    /// nothing else.
    func awake(since time: UInt64) -> BeaconReading {
        let activity = time > 0 ? LoopActivity.afterWaiting : .waiting
        return BeaconReading(
            word: beaconWord & ~0xff | UInt64(activity.rawValue),
            calloutNanoseconds: calloutNanoseconds,
            wokeNanoseconds: time
        )
    }

    package var activity: LoopActivity { LoopActivity(rawValue: UInt8(truncatingIfNeeded: word)) ?? .notRunning }

    /// Whether staying at this word counts.
    var isWorking: Bool { LoopActivity.isWorking(UInt8(truncatingIfNeeded: word)) }

    /// Whether the loop has worked without idle time for this long, as far as it publishes it.
    func isAwake(for nanoseconds: UInt64, at now: UInt64) -> Bool {
        let since = wokeNanoseconds > 0 ? wokeNanoseconds : calloutNanoseconds
        return isWorking && since > 0 && now.saturatingDifference(since) >= nanoseconds
    }

    /// Whether the loop has ever published an activity. A queue that can only be pinged has not.
    var isObserved: Bool { word != 0 }

    /// Whether the loop can be expected to answer.
    var mayAnswer: Bool {
        switch activity {
        case .notRunning: !isObserved
        case .finished, .expected: false
        default: true
        }
    }

    /// When something that was last seen at `seen` ended, if the loop answered an arming at its end.
    ///
    /// An earlier answer belongs to an older arming.
    func answer(after seen: UInt64, since: UInt64) -> UInt64? {
        answeredNanoseconds >= seen && answeredNanoseconds > since ? answeredNanoseconds : nil
    }
}
