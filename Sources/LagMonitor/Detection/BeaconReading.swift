internal import CLibunwind
package import LagActivity

/// What a beacon said at one moment.
package struct BeaconReading: Sendable, Equatable {
    /// Sequence and activity, as they stand in the beacon.
    package let word: UInt64
    /// When the present stretch of work began; 0 when the loop does not tell.
    package let calloutNanoseconds: UInt64
    /// When the loop last answered an arming; 0 when it never did.
    package let answeredNanoseconds: UInt64

    package init(word: UInt64, calloutNanoseconds: UInt64, answeredNanoseconds: UInt64 = 0) {
        self.word = word
        self.calloutNanoseconds = calloutNanoseconds
        self.answeredNanoseconds = answeredNanoseconds
    }

    /// Reads a live beacon: its times belong to `word` or to a younger one, so a duration is never too long.
    init(_ beacon: UnsafePointer<clu_beacon>) {
        word = clu_beacon_word(beacon)
        calloutNanoseconds = clu_beacon_callout_ns(beacon)
        answeredNanoseconds = clu_beacon_answered_ns(beacon)
    }

    /// Whether standing still at this word counts.
    var isWorking: Bool { LoopActivity.isWorking(UInt8(truncatingIfNeeded: word)) }

    package var activity: LoopActivity { LoopActivity(rawValue: UInt8(truncatingIfNeeded: word)) ?? .notRunning }
}
