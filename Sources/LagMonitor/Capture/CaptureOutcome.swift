package import CLagLinux
package import LagModel

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

/// How a walk of the stack ended.
package enum UnwindEnd: Int32, Sendable {
    /// The thread's first frame was reached.
    case complete = 0
    /// There are more frames than are visited.
    case limit = 1
    /// The next frame is in no module, or in one without unwind tables.
    case noUnwindInfo = 2
    /// The next frame is not valid.
    case badFrame = 3
}

/// Whether a thread was in its own code or in the kernel when its stack was captured.
package enum KernelState: Sendable, Equatable {
    /// Nothing is known.
    case unknown
    /// On a processor, or waiting for one, in its own code.
    case running
    /// The same in a system call; with its number if known.
    case runningCall(Int64?)
    /// Asleep in a system call.
    case waiting(cll_thread_syscall)
    /// Asleep outside a system call: it waits for a page of memory.
    case faulting
    /// Asleep, and the kernel does not report in which call.
    case asleep

    /// Whether the thread slept; nil: not known, or it waited for memory, which may have been available.
    package var isAsleep: Bool? {
        switch self {
        case .running, .runningCall: false
        case .waiting, .asleep: true
        case .unknown, .faulting: nil
        }
    }

    package static func == (left: KernelState, right: KernelState) -> Bool {
        switch (left, right) {
        case (.unknown, .unknown), (.running, .running), (.faulting, .faulting), (.asleep, .asleep): true
        case (.runningCall(let left), .runningCall(let right)): left == right
        case (.waiting(let left), .waiting(let right)): left.number == right.number && left.sp == right.sp
        default: false
        }
    }
}

/// The result of a capture.
package struct CaptureOutcome: Sendable {
    package var method: CaptureMethod
    package var failure: CaptureFailure?
    /// Frames stored, leaf first.
    package var stored = 0
    /// Frames seen, including those for which there was no space.
    package var total = 0
    package var end: UnwindEnd = .complete
    /// Whether the frame pointer was found by searching the stack (a passive capture does not know it), or frame pointers led
    /// through code without unwind tables.
    package var framePointerRecovered = false
    package var state = KernelState.unknown
    /// Whether the thread was running, and could only be sampled in its own code: it may have been in the kernel for most of its
    /// time.
    package var isOfOwnCodeAlone = false
    /// Whether the runtime of its language was collecting garbage in this thread.
    package var isCollecting = false

    /// No stack, and the reason.
    package static func failed(_ failure: CaptureFailure, _ state: KernelState = .unknown) -> CaptureOutcome {
        CaptureOutcome(method: .none, failure: failure, state: state)
    }
}
