internal import Synchronization

/// What is given to a loop or a queue as a ping: it holds the beacon, not the loop's object, and no two are under way at once.
package final class PingMailbox: Sendable {
    package let beacon = ActivityBeacon()
    private let isOutstanding = Atomic<Bool>(false)

    package init() {}

    /// Whether a ping is to be given now. Whoever got true has ``answer()`` called by what is pinged. Any thread.
    package func beginPing() -> Bool { !isOutstanding.exchange(true, ordering: .sequentiallyConsistent) }

    /// The ping got there. On whatever was pinged.
    package func answer() {
        // First, so that a ping that finds one outstanding comes before the time of its answer.
        isOutstanding.store(false, ordering: .sequentiallyConsistent)
        beacon.pong()
    }
}
