package import CLagBeacon
package import CLagLinux

/// What one reading found that a thread is at: memory of who read it, until the next reading.
package struct RunningReading {
    /// Nil: none, or that is not certain.
    package var task: UnsafePointer<cll_task>?
    package var context: UnsafePointer<clb_context_copy>?
    /// From when on both are known to have run, to run on until they are through: a synchronous call, or a job of a pool's thread (`CLOCK_MONOTONIC`, nanoseconds).
    /// Nil: a task that a loop runs may give it to others at any time.
    package var since: UInt64?

    package init(
        task: UnsafePointer<cll_task>? = nil,
        context: UnsafePointer<clb_context_copy>? = nil,
        since: UInt64? = nil
    ) {
        (self.task, self.context, self.since) = (task, context, since)
    }
}
