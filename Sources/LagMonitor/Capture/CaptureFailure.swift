/// Why there is no stack. The raw value is written to a record's `capture_error`.
package enum CaptureFailure: String, Sendable, CaseIterable {
    /// The thread ended meanwhile.
    case threadGone = "thread_gone"
    /// The thread blocks every signal that the monitor may use, and it is running, so it could not be read without one.
    case signalsBlocked = "signals_blocked"
    /// All the monitor's signals have other handlers in this process.
    case noFreeSignal = "no_free_signal"
    /// The thread did not answer in time: it was not scheduled, or it is in the kernel.
    case signalTimedOut = "signal_timed_out"
    /// An earlier request is still being answered.
    case signalBusy = "signal_busy"
    /// It is running, and the end of its stack is not known, so a signal's frame might not fit.
    case stackUnknown = "stack_unknown"
    /// A signal's frame might not fit on the thread's stack.
    case stackNearlyFull = "stack_nearly_full"
    /// The thread kept alternating between running and sleeping, or it is working in a call that another signal would interrupt.
    case threadKeptMoving = "thread_kept_moving"
    /// The kernel or a sandbox does not permit reading the thread.
    case notPermitted = "not_permitted"
    /// The process has no descriptor left for reading `/proc`.
    case noDescriptor = "no_descriptor"
    /// The stack could be read, but nothing in it could be unwound.
    case notUnwindable = "not_unwindable"
    /// The loop had moved on when the stack was captured, so the stack does not belong to the stall.
    case loopMovedOn = "loop_moved_on"
    /// More stalls at once than there is prepared memory for.
    case noFreeSlot = "no_free_slot"
    /// The thread of this loop is not known.
    case threadUnknown = "thread_unknown"
}
