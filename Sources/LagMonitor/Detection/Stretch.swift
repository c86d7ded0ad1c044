internal import LagActivity

/// A stretch of work: the time in which a loop's word stands still at an activity that counts as work.
package struct Stretch: Sendable, Equatable {
    package let word: UInt64
    /// When it began.
    package let since: UInt64
    /// How much of it lies in waits of the watchdog that ended too late.
    package let lost: UInt64
    /// When it was last seen to go on: its end is not before that.
    package let seen: UInt64

    package init(word: UInt64, since: UInt64, lost: UInt64 = 0, seen: UInt64) {
        self.word = word
        self.since = since
        self.lost = lost
        self.seen = seen
    }

    /// The stretch that a reading shows for the first time.
    /// - Parameter lost: the length of the wait before, if it was late: the stretch may have begun within it.
    init(_ reading: BeaconReading, at now: UInt64, lost: UInt64) {
        // A loop that tells no time began, as far as is known, when it was first seen. A time in the future is none.
        let told = reading.calloutNanoseconds
        let since = told > 0 && told <= now ? told : now
        self.init(word: reading.word, since: since, lost: min(lost, now - since), seen: now)
    }

    func goingOn(at now: UInt64, lost more: UInt64) -> Stretch {
        Stretch(word: word, since: since, lost: lost.saturatingSum(more), seen: max(seen, now))
    }

    /// How long it has lasted, without the time that was lost.
    func length(at now: UInt64) -> UInt64 {
        let elapsed = now > since ? now - since : 0
        return elapsed > lost ? elapsed - lost : 0
    }

    /// When it will have lasted so long.
    func time(ofLength length: UInt64) -> UInt64 { since.saturatingSum(lost).saturatingSum(length) }

    /// When it ended, by what the loop says afterwards.
    ///
    /// The loop answers an arming at its next activity, and it tells when its next stretch began: the earlier of the two
    /// is the end. An answer from before the stretch was last seen is one to an older arming.
    func end(by reading: BeaconReading, at now: UInt64) -> UInt64 {
        var end = max(now, since)
        if reading.answeredNanoseconds >= seen, reading.answeredNanoseconds > since {
            end = min(end, reading.answeredNanoseconds)
        }
        if reading.calloutNanoseconds > since { end = min(end, reading.calloutNanoseconds) }
        return end
    }
}
