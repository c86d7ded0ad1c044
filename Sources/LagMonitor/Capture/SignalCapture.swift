internal import CLagBeacon
internal import CLagLinux
package import LagActivity
package import LagModel

/// Captures a running thread's registers and stack in this process: by a signal, whose handler copies them and returns.
///
/// All captures of the process share the handlers, which are installed while any capture exists.
package struct SignalCapture: RunningThreadCapture {
    package let method = CaptureMethod.signal
    package let snapshot: Snapshot
    /// A sample costs the thread some 40 µs, a signal some 10.
    package let prefersSample = false
    /// Threads seen on a stack other than their own, for example because they run fibers: no call reports which stack they are on
    /// at a given moment.
    private let strayed = RecentThreads()
    /// Threads that a signal found in a call which it interrupted: they may have repeated the call for the rest. They count until
    /// their stall ends, or for some seconds: for threads that are sampled beside a stall, no end is seen.
    private let cut = RecentThreads(lifetimeNanoseconds: 10_000_000_000)

    /// Takes over the signals that have no handler; returns their number. Not from two threads at once.
    @discardableResult
    package static func install() -> Int { Int(cll_signal_install()) }

    /// Releases the signals.
    package static func remove() { cll_signal_remove() }

    /// - Parameter languages: not used: these are for other processes.
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
        // The stack of a handler or a fiber, and what is below it, is not known. (About a fiber that has never slept, nothing is
        // known at all.)
        guard target.stackLow != 0, !strayed.contains(target.tid, at: begun),
            cll_signal_may_be_in_handler(state.blockedSignals, state.caughtSignals) == 0
        else { return .failed(.stackUnknown) }
        // A signal on a stack without space for it would kill the process. No call reports the stack pointer of a running thread.
        // If the pages at the stack's end were never touched, the thread was never near it. (Pages full of zeros prove nothing: a
        // probe of a stack's depth leaves zeros, and so does a cleared buffer.)
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
