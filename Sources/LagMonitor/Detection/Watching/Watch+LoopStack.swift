internal import LagActivity
internal import LagCapture
internal import LagModel

/// The functions that run the loop (``LoopStack``): for loops of other processes, whose names are not known in advance.
extension Watch {
    /// What runs the loop, as far as it was captured, and when it is captured again.
    struct KnownLoop {
        var stack = LoopStack()
        /// The calls by which it reached its wait.
        var calls = LoopCalls()
        /// When these are to be captured again.
        private(set) var dueNanoseconds: UInt64 = 0
        /// The delay after they could not be captured.
        private var retryNanoseconds = Self.firstRetryNanoseconds

        /// A program may switch from one loop to another; for this long it is assumed to be in the same one: 0.1 ms a second of
        /// a busy loop.
        private static let ageNanoseconds: UInt64 = 1_000_000_000
        /// A busy loop may never be asleep when it is visited. If its stack cannot be walked to the end, it is finally read as
        /// rarely as others.
        private static let firstRetryNanoseconds: UInt64 = 50_000_000

        /// The next attempt, if this one fails.
        mutating func postpone(at now: UInt64) { dueNanoseconds = now.saturatingSum(retryNanoseconds) }

        /// The loop slept, which may still not be enough.
        mutating func lengthenRetry() { retryNanoseconds = min(retryNanoseconds * 2, Self.ageNanoseconds) }

        mutating func complete(with calls: LoopCalls, at now: UInt64) {
            self.calls = calls
            dueNanoseconds = now.saturatingSum(Self.ageNanoseconds)
            retryNanoseconds = Self.firstRetryNanoseconds
        }
    }

    /// Captures the stack of a waiting loop, if it sleeps there and it is time. The thread notices nothing.
    func recordLoopStack(_ beacon: BeaconReading, at now: UInt64) {
        guard countsSleeps, now >= cold.pointee.knownLoop.dueNanoseconds else { return }
        cold.pointee.knownLoop.postpone(at: now)
        let target = cold.pointee.target
        let outcome = services.capture.capture(target, earlier: nil, into: services.scratch, bySignal: false, budget: .once)
        guard outcome.method == .passive, BeaconReading(hot.pointee.beacon).word == beacon.word else { return }
        cold.pointee.knownLoop.lengthenRetry()
        services.findFunctions(of: outcome.stored)
        guard cold.pointee.knownLoop.stack.record(outcome, in: services.scratch) else { return }
        let hasLanguages = services.scratch.hasLanguages(in: outcome.stored)
        let calls = LoopCalls(services.calls(of: target, after: outcome), hasLanguages: hasLanguages)
        // If it has continued meanwhile, it may have been elsewhere by then.
        guard BeaconReading(hot.pointee.beacon).word == beacon.word else { return }
        cold.pointee.knownLoop.complete(with: calls, at: now)
    }

    /// Whether the thread sleeps in a handler according to its calls (``LoopCalls``). `events` is the stack address of the events
    /// of the loop's wait, if they are on the stack.
    func isHandler(waitingInto events: UInt64?) -> Bool {
        // A loop that was never seen idle is unknown.
        guard cold.pointee.knownLoop.calls.canDistinguish(events: events) else { return false }
        return cold.pointee.knownLoop.calls.isHandler(services.calls(of: cold.pointee.target), events: events)
    }
}
