internal import CLagBeacon
package import LagActivity

extension ObservableLoop {
    /// How long the loop has been in its current activity: a new event has to wait at least this long. 0 when it is idle, and for
    /// a loop that does not publish its activities. Any thread; some 50 ns.
    package var lagNanoseconds: UInt64 {
        // If the word is the same before and after, the time belongs to it; a loop that has just moved on has no lag.
        let sequence = beacon.sequence
        let (began, now) = (clb_beacon_callout_ns(beacon.raw), clb_now_ns())
        let isAtIt = beacon.activity.isWorking && beacon.sequence == sequence
        return isAtIt && began > 0 && now > began ? now - began : 0
    }

    /// The same for any loop whose lag can be determined. For a loop that is only pinged, it is how long its ping has waited: the
    /// loop must be watched by ``StallRules/ping``, and a lag shorter than the rule's interval may not be seen. Nil: the lag
    /// cannot be determined.
    package var knownLagNanoseconds: UInt64? {
        publishesActivity ? lagNanoseconds : (self as? any MailboxLoop)?.mailbox.lagNanoseconds
    }
}
