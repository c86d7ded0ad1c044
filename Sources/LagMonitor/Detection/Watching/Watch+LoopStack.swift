internal import LagActivity
internal import LagCapture

/// Which functions run the loop (``LoopStack``): of loops of other processes, whose names nobody knows beforehand.
extension Watch {
    /// A program may come from one loop to another; so long one is taken to be in the same: 0.1 ms a second of a busy loop.
    private static let loopStackAgeNanoseconds: UInt64 = 1_000_000_000
    /// A busy loop may not be asleep whenever it is visited. One whose stack has no end is read as seldom as others at last.
    static let firstLoopStackRetryNanoseconds: UInt64 = 50_000_000

    /// Takes the stack of a loop that waits, if it sleeps there and it is time. The thread notices nothing.
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
        // One that went on meanwhile may have been elsewhere by then.
        guard BeaconReading(hot.pointee.beacon).word == beacon.word else { return }
        cold.pointee.loopCalls = calls
        cold.pointee.loopStackDue = now.saturatingSum(Self.loopStackAgeNanoseconds)
        cold.pointee.loopStackRetry = Self.firstLoopStackRetryNanoseconds
    }

    /// Whether the thread sleeps in a handler by its calls (``LoopCalls``), where its loop waits with its events at that address of the stack, if they
    /// are there.
    func isHandler(waitingInto events: UInt64?) -> Bool {
        // Of a loop that nobody has seen at rest nothing is known.
        guard cold.pointee.loopCalls.canDistinguish(events: events) else { return false }
        return cold.pointee.loopCalls.isHandler(services.calls(of: cold.pointee.target), events: events)
    }
}
