package import LagActivity
package import LagCapture
internal import LagModel

/// One stall passed from the watchdog to the reporter: prepared memory, filled and read alternately.
///
/// Ownership follows the index: free → the watchdog (while the stall lasts) → the reporter → free. The queues that pass the index
/// order memory, so each owner sees what the one before wrote.
// Unchecked: never accessed by two threads at once, as described above.
package final class Episode: @unchecked Sendable {
    package enum Phase: Sendable {
        case begin, end, abandoned
        /// At detection: for stalls in progress that are kept. It produces no line.
        case opened
        /// It turned out not to be a stall. It produces no line, and is no longer kept.
        case dismissed
    }

    /// The contents of a line, except the frames.
    package struct Facts: Sendable {
        package var phase = Phase.end
        /// Index of the watched loop in the registry.
        package var watch = 0
        /// The rule of these times.
        package var kind = StallKind.callout
        /// All rules that found it.
        package var kinds: StallKinds = []
        package var interval = StallInterval(since: 0, seen: 0)
        package var thresholdNanoseconds: UInt64 = 0
        /// `CLOCK_REALTIME` at the start, nanoseconds since 1970, fixed at detection: it is the same in all lines of a stall.
        package var startRealtimeNanoseconds: Int64 = 0
        /// The same for the stall's identifier, which does not change when a rule with another beginning takes over.
        package var identityRealtimeNanoseconds: Int64 = 0
        /// Random bits of the stall's identifier.
        package var random: (UInt64, UInt64) = (0, 0)
        package var activity = LoopActivity.notRunning
        /// The thread of these stacks; 0: none was found.
        package var thread: Int32 = 0
        package var mode: UInt32 = 0
        /// How many events the turn in which it was found had to handle; nil: not known.
        package var turnEvents: UInt32?
        /// Whether work was pending at the loop; nil: it was not examined.
        package var pending: PendingMeter?
        /// The maximum number of blocks and jobs that waited in the queue; nil: it is not a queue, or not known.
        package var jobsWaiting: UInt64?
        /// What runs the loop; empty if that is not known, or if its names show it.
        package var loopStack = LoopStack()
        /// What the thread used during the stall.
        package var usage = ThreadUsage()

        /// A time in its latest stretch of work. (A callout is one stretch, and only its beginning is known to be before the next.)
        package var lastWork: UInt64 { kind == .callout ? interval.since : interval.until }
    }

    package var facts = Facts()
    package let tally: StackTally
    /// What the thread was working on.
    package let running: RunningTally

    package init?(maximumFrames: Int) {
        guard let tally = StackTally(maximumFrames: maximumFrames), let running = RunningTally() else { return nil }
        self.tally = tally
        self.running = running
    }

    /// Why there is no stack; nil if there is one.
    package var failure: CaptureFailure? { tally.count == 0 ? tally.failure.failure : nil }

    /// Copies another episode's stall into this one. Allocates nothing.
    package func copy(_ other: Episode) {
        facts = other.facts
        tally.copy(other.tally)
        running.copy(other.running)
    }
}
