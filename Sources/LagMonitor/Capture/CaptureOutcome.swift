package import LagModel

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
