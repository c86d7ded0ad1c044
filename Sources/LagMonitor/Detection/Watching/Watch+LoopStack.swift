internal import LagActivity
internal import LagCapture

/// The functions that run the loop (``LoopStack``): for loops of other processes, whose names are not known in advance.
extension Watch {
    /// A program may switch from one loop to another; for this long it is assumed to be in the same one: 0.1 ms a second of a
    /// busy loop.
    private static let loopStackAgeNanoseconds: UInt64 = 1_000_000_000
    /// A busy loop may never be asleep when it is visited. If its stack cannot be walked to the end, it is finally read as rarely
    /// as others.
    static let firstLoopStackRetryNanoseconds: UInt64 = 50_000_000

    /// Captures the stack of a waiting loop, if it sleeps there and it is time. The thread notices nothing.
    func recordLoopStack(_ beacon: BeaconReading, at now: UInt64) {
        guard countsSleeps, now >= cold.pointee.loopStackDue else { return }
        let retry = cold.pointee.loopStackRetry
        cold.pointee.loopStackDue = now.saturatingSum(retry)
        let target = cold.pointee.target
        let outcome = services.capture.capture(target, earlier: nil, into: services.scratch, bySignal: false, budget: .once)
        guard outcome.method == .passive, BeaconReading(hot.pointee.beacon).word == beacon.word else { return }
        cold.pointee.loopStackRetry = min(retry * 2, Self.loopStackAgeNanoseconds)
        services.findFunctions(of: outcome.stored)
        guard cold.pointee.loopStack.record(outcome, in: services.scratch) else { return }
        let hasLanguages = services.scratch.hasLanguages(in: outcome.stored)
        let calls = LoopCalls(services.calls(of: target, after: outcome), hasLanguages: hasLanguages)
        // If it has continued meanwhile, it may have been elsewhere by then.
        guard BeaconReading(hot.pointee.beacon).word == beacon.word else { return }
        cold.pointee.loopCalls = calls
        cold.pointee.loopStackDue = now.saturatingSum(Self.loopStackAgeNanoseconds)
        cold.pointee.loopStackRetry = Self.firstLoopStackRetryNanoseconds
    }

    /// Whether the thread sleeps in a handler according to its calls (``LoopCalls``). `events` is the stack address of the events
    /// of the loop's wait, if they are on the stack.
    func isHandler(waitingInto events: UInt64?) -> Bool {
        // A loop that was never seen idle is unknown.
        guard cold.pointee.loopCalls.canDistinguish(events: events) else { return false }
        return cold.pointee.loopCalls.isHandler(services.calls(of: cold.pointee.target), events: events)
    }
}
