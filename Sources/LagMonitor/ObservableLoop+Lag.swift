internal import CLagBeacon
package import LagActivity

extension ObservableLoop {
    /// For how long the loop has been at what it does now, which is what anything new has to wait for at least; 0 at rest, and for a
    /// loop that does not publish its activities. Any thread; some 50 ns.
    package var lagNanoseconds: UInt64 {
        // With the same word before and after, the time belongs to it; a loop that has just moved on is not behind.
        let sequence = beacon.sequence
        let (began, now) = (clb_beacon_callout_ns(beacon.raw), clb_now_ns())
        let isAtIt = beacon.activity.isWorking && beacon.sequence == sequence
        return isAtIt && began > 0 && now > began ? now - began : 0
    }

    /// The same for any loop whose lag can be known: of one that is only pinged, for how long its ping has waited. It has to be watched by
    /// ``StallRules/ping`` then, and a lag shorter than the rule's interval may not be seen. Nil: it cannot be known.
    package var knownLagNanoseconds: UInt64? {
        publishesActivity ? lagNanoseconds : (self as? any MailboxLoop)?.mailbox.lagNanoseconds
    }
}
