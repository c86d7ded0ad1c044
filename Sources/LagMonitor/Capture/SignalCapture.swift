internal import CLagBeacon
internal import CLagLinux
package import LagActivity
package import LagModel

/// Takes a running thread's registers and stack in this process: a signal, whose handler copies them and returns.
///
/// The handlers are shared by all captures of the process, and installed while there are some.
package struct SignalCapture: RunningThreadCapture {
    package let method = CaptureMethod.signal
    package let snapshot: Snapshot
    /// A sample costs the thread some 40 µs, a signal some 10.
    package let prefersSample = false
    /// Seen on another stack than their own, as those that run fibers: which stack they are on at some moment, no call says.
    private let strayed = RecentThreads()
    /// Found by a signal in a call that it has cut short: they may have made it again, for the rest. Until their stall ends, or for some seconds: of threads
    /// that are sampled beside a stall no end is seen.
    private let cut = RecentThreads(lifetimeNanoseconds: 10_000_000_000)

    /// Takes over the signals that have no handler; returns how many. Not from two threads at once.
    @discardableResult
    package static func install() -> Int { Int(cll_signal_install()) }

    /// Gives the signals back.
    package static func remove() { cll_signal_remove() }

    /// - Parameter languages: none: those are of other processes.
    package init(snapshot: Snapshot, languages: (any LanguageCapture)?) { self.snapshot = snapshot }

    package var hasAnswer: Bool { cll_signal_has_answer() != 0 }

    package func withdraw() -> Bool { cll_signal_withdraw() == Int32(CLL_SIGNAL_TAKEN) }

    package func forget() { _ = cll_signal_forget(snapshot.raw) }

    package func sawAsleep(_ target: ThreadIdentity, at stackPointer: UInt64) {
        guard target.stackLow != 0, stackPointer < target.stackLow || stackPointer >= target.stackHigh else { return }
        strayed.insert(target.tid, at: clb_now_ns())
    }

    package func forgetStall(of tid: Int32) { cut.remove(tid) }

    package func take(_ target: ThreadIdentity, state: ThreadState, within nanoseconds: UInt64) -> RunningThreadAnswer {
        let signal = cll_signal_choose(state.blockedSignals)
        guard signal != 0 else { return .failed(cll_signal_choose(0) == 0 ? .noFreeSignal : .signalsBlocked) }
        let begun = clb_now_ns()
        guard !cut.contains(target.tid, at: begun) else { return .failed(.threadKeptMoving) }
        // On which stack a handler or a fiber is, and what lies below it, is not known. (Of a fiber that has never slept, nothing is known at all.)
        guard target.stackLow != 0, !strayed.contains(target.tid, at: begun),
            cll_signal_may_be_in_handler(state.blockedSignals, state.caughtSignals) == 0
        else { return .failed(.stackUnknown) }
        // A signal on a stack without room for it would kill the process. Where the stack pointer of a running thread
        // is, no call says; that it never was near the end is known where the pages there were never touched. (That they hold zeros says
        // nothing: a probe of a stack's depth leaves zeros, so does a buffer that is cleared.)
        if cll_memory_is_untouched(target.stackLow, cll_signal_stack_need()) == 0 {
            return .failed(.stackNearlyFull)
        }
        let answer = cll_signal_capture(
            target.tid,
            signal,
            target.stackLow,
            target.stackHigh,
            snapshot.raw,
            begun + nanoseconds
        )
        if answer == Int32(CLL_SIGNAL_TAKEN), cll_snapshot_is_cut(target.process, snapshot.raw) != 0 {
            cut.insert(target.tid, at: begun)
        }
        return RunningThreadAnswer(answer)
    }
}
