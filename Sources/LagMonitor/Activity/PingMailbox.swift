internal import Synchronization

/// What is given to a loop or a queue as a ping: it holds the beacon, not the loop's object, and no two are under way at once.
package final class PingMailbox: Sendable {
    package let beacon = ActivityBeacon()
    /// When the ping was given that is not answered, `CLOCK_MONOTONIC`; 0: there is none.
    private let pingedNanoseconds = Atomic<UInt64>(0)

    package init() {}

    /// Whether a ping is to be given now. Whoever got true has ``answer()`` called by what is pinged. Any thread.
    package func beginPing() -> Bool {
        let now = max(1, MonotonicTime.now.nanoseconds)
        return pingedNanoseconds.compareExchange(expected: 0, desired: now, ordering: .sequentiallyConsistent).exchanged
    }

    /// The ping got there. On whatever was pinged.
    package func answer() {
        // First, so that a ping that finds one outstanding comes before the time of its answer.
        pingedNanoseconds.store(0, ordering: .sequentiallyConsistent)
        beacon.pong()
    }

    /// Whether a ping waits for its answer. Any thread.
    package var isPinged: Bool { pingedNanoseconds.load(ordering: .sequentiallyConsistent) != 0 }

    /// For how long a ping has waited for its answer; 0 where none waits, and for a loop that has ended. Any thread; some 30 ns.
    package var lagNanoseconds: UInt64 {
        let pinged = pingedNanoseconds.load(ordering: .sequentiallyConsistent)
        let now = MonotonicTime.now.nanoseconds
        return pinged == 0 || now <= pinged || beacon.activity == .finished ? 0 : now - pinged
    }
}

/// A loop that publishes no activity, whose pings say for how long others have waited for it.
package protocol MailboxLoop: PingableLoop {
    var mailbox: PingMailbox { get }
}
