package import LagActivity
package import LagCapture

/// One stall on its way from the watchdog to the reporter: prepared memory, filled and read by turns.
///
/// Ownership goes with the index: free → the watchdog (while the stall lasts) → the reporter → free. The queues that
/// pass the index order memory, so each owner sees what the one before wrote.
// Unchecked: never touched by two threads at once, as said above.
package final class Episode: @unchecked Sendable {
    package enum Phase: Sendable {
        case begin, end, abandoned
        /// At detection: for whoever keeps stalls in progress. It makes no line.
        case opened
        /// It turned out to be no stall. It makes no line, and is kept no longer.
        case dismissed
    }

    /// What is in a line, but for the frames.
    package struct Facts: Sendable {
        package var phase = Phase.end
        /// Index of the watched loop in the registry.
        package var watch = 0
        /// The rule whose times these are.
        package var kind = StallKind.callout
        /// All rules that found it.
        package var kinds: StallKinds = []
        package var interval = StallInterval(since: 0, seen: 0)
        package var thresholdNanoseconds: UInt64 = 0
        /// `CLOCK_REALTIME` at the start, nanoseconds since 1970, fixed at detection: all lines of a stall say the same.
        package var startRealtimeNanoseconds: Int64 = 0
        /// The same for the stall's identifier, which stays when a rule with another beginning takes over.
        package var identityRealtimeNanoseconds: Int64 = 0
        /// Random bits of the stall's identifier.
        package var random: (UInt64, UInt64) = (0, 0)
        package var activity = LoopActivity.notRunning
        /// The thread whose stacks these are; 0: none was found.
        package var thread: Int32 = 0
        package var mode: UInt32 = 0
        /// How many events the turn in which it was found had to handle; nil: not known.
        package var turnEvents: UInt32?
        /// Whether work was pending at the loop; nil: it was not examined.
        package var pending: PendingMeter?
        /// How many blocks and jobs waited in the queue, at most; nil: it is no queue, or not known.
        package var jobsWaiting: UInt64?
        /// What runs the loop; empty where that is not known, or shows by its names.
        package var loopStack = LoopStack()
        /// What the thread used during the stall.
        package var usage = ThreadUsage()
    }

    package var facts = Facts()
    package let tally: StackTally
    /// What the thread was working at.
    package let running: RunningTally

    package init?(maximumFrames: Int) {
        guard let tally = StackTally(maximumFrames: maximumFrames), let running = RunningTally() else { return nil }
        self.tally = tally
        self.running = running
    }

    /// Why there is no stack; nil when there is one.
    package var failure: CaptureFailure? { tally.count == 0 ? tally.failure.failure : nil }

    /// Becomes the same stall as another. Allocates nothing.
    package func copy(_ other: Episode) {
        facts = other.facts
        tally.copy(other.tally)
        running.copy(other.running)
    }
}
