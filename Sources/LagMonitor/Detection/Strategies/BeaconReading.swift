internal import CLagBeacon
package import LagActivity

/// What a beacon said at one moment.
package struct BeaconReading: Sendable, Equatable {
    /// Sequence and activity, as the rules are to take them.
    package private(set) var word: UInt64
    /// The same as they stand in the beacon: they differ where work was found to keep nothing waiting (``atRest``).
    package let beaconWord: UInt64
    /// When the present stretch of work began; 0 when the loop does not publish it.
    package private(set) var calloutNanoseconds: UInt64
    /// When the loop last answered an arming; 0 when it never did.
    package let answeredNanoseconds: UInt64
    /// When the loop's last rest ended; 0 when the loop does not publish it.
    package let wokeNanoseconds: UInt64
    /// When the loop last answered a ping; 0 when it never did.
    package let pongNanoseconds: UInt64
    /// What is known of the loop's times, where it publishes none itself.
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

    /// Reads a live beacon: its times belong to `word` or to a younger one, so a duration is never too long.
    init(_ beacon: UnsafePointer<clb_beacon>) {
        word = clb_beacon_word(beacon)
        beaconWord = word
        calloutNanoseconds = clb_beacon_callout_ns(beacon)
        answeredNanoseconds = clb_beacon_answered_ns(beacon)
        wokeNanoseconds = clb_beacon_woke_ns(beacon)
        pongNanoseconds = clb_beacon_pong_ns(beacon)
    }

    /// The same as if the loop rested.
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

    /// The same of a loop that has not rested since `time`, wherever it is now; 0: it rests. For the rule that asks for nothing else.
    func awake(since time: UInt64) -> BeaconReading {
        let activity = time > 0 ? LoopActivity.afterWaiting : .waiting
        return BeaconReading(
            word: beaconWord & ~0xff | UInt64(activity.rawValue),
            calloutNanoseconds: calloutNanoseconds,
            wokeNanoseconds: time
        )
    }

    package var activity: LoopActivity { LoopActivity(rawValue: UInt8(truncatingIfNeeded: word)) ?? .notRunning }

    /// Whether standing still at this word counts.
    var isWorking: Bool { LoopActivity.isWorking(UInt8(truncatingIfNeeded: word)) }

    /// Whether the loop has worked without a rest for so long, as far as it says.
    func isAwake(for nanoseconds: UInt64, at now: UInt64) -> Bool {
        let since = wokeNanoseconds > 0 ? wokeNanoseconds : calloutNanoseconds
        return isWorking && since > 0 && now.saturatingDifference(since) >= nanoseconds
    }

    /// Whether the loop has ever published an activity. A queue that can only be pinged has not.
    var isObserved: Bool { word != 0 }

    /// Whether an answer may be expected of the loop.
    var mayAnswer: Bool {
        switch activity {
        case .notRunning: !isObserved
        case .finished, .expected: false
        default: true
        }
    }

    /// When something that was last seen at `seen` ended, if the loop answered an arming with that.
    ///
    /// An answer from before is one to an older arming.
    func answer(after seen: UInt64, since: UInt64) -> UInt64? {
        answeredNanoseconds >= seen && answeredNanoseconds > since ? answeredNanoseconds : nil
    }
}
