internal import Synchronization

/// The ping that is submitted to a loop or a queue. It holds the beacon, not the loop's object, and only one is outstanding at a
/// time.
package final class PingMailbox: Sendable {
    package let beacon = ActivityBeacon()
    /// When the unanswered ping was sent, `CLOCK_MONOTONIC`; 0: none.
    private let pingedNanoseconds = Atomic<UInt64>(0)

    package init() {}

    /// Whether a ping is to be sent now. After true, the pinged loop must call ``answer()``. Any thread.
    package func beginPing() -> Bool {
        let now = max(1, MonotonicTime.now.nanoseconds)
        return pingedNanoseconds.compareExchange(expected: 0, desired: now, ordering: .sequentiallyConsistent).exchanged
    }

    /// The ping arrived. Called on the pinged loop or queue.
    package func answer() {
        // First, so that a ping that finds one outstanding comes before the time of its answer.
        pingedNanoseconds.store(0, ordering: .sequentiallyConsistent)
        beacon.pong()
    }

    /// Whether a ping waits for its answer. Any thread.
    package var isPinged: Bool { pingedNanoseconds.load(ordering: .sequentiallyConsistent) != 0 }

    /// How long a ping has waited for its answer; 0 if none waits, and for a loop that has ended. Any thread; some 30 ns.
    package var lagNanoseconds: UInt64 {
        let pinged = pingedNanoseconds.load(ordering: .sequentiallyConsistent)
        let now = MonotonicTime.now.nanoseconds
        return pinged == 0 || now <= pinged || beacon.activity == .finished ? 0 : now - pinged
    }
}

/// A loop that publishes no activity; its pings show how long others have waited for it.
package protocol MailboxLoop: PingableLoop {
    var mailbox: PingMailbox { get }
}
