package import CLagBeacon
package import CLagLinux

/// What one reading found a thread working on: the reader's memory, valid until the next reading.
package struct RunningReading {
    /// Nil: none, or not certain.
    package var task: UnsafePointer<cll_task>?
    package var context: UnsafePointer<clb_context_copy>?
    /// Since when both are known to have run, if they run until they are finished: a synchronous call, or a job of a pool's
    /// thread (`CLOCK_MONOTONIC`, nanoseconds). Nil: a task run by a loop, which may switch to another at any time.
    package var since: UInt64?

    package init(
        task: UnsafePointer<cll_task>? = nil,
        context: UnsafePointer<clb_context_copy>? = nil,
        since: UInt64? = nil
    ) {
        (self.task, self.context, self.since) = (task, context, since)
    }
}
