/// How a stalled thread's registers and stack were taken. The raw value is the line's `capture`.
public enum CaptureMethod: String, Sendable, CaseIterable {
    /// Without a signal, from the kernel's information about a sleeping thread.
    case passive
    /// By a signal, from a running thread.
    case signal
    /// By a sample from the kernel, from a running thread of another process, or one that no signal reaches.
    case perfEvent = "perf_event"
    /// By stopping a running thread of another process for a moment.
    case ptrace
    /// Not at all: ``StallRecord/captureError`` gives the reason.
    case none
}
