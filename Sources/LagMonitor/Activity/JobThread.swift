package import CLagLinux
internal import Glibc

/// A thread of a pool whose job can be read from outside.
package struct JobThread: Sendable {
    package let tid: Int32
    private let raw: cll_job_thread

    /// - Returns: nil if the thread is gone, or if glibc's thread descriptor cannot be found.
    package init?(tid: Int32) {
        let descriptor = cll_thread_descriptor(tid)
        guard descriptor != 0 else { return nil }
        self.tid = tid
        raw = cll_job_thread(descriptor: descriptor, tid: tid)
    }

    /// The thread, with the bounds of its stack. Reads the process's maps.
    package var identity: ThreadIdentity {
        var (low, high): (UInt64, UInt64) = (0, 0)
        _ = cll_procfs_mapping(getpid(), raw.descriptor - 1, &low, &high)
        // The descriptor is at the upper end of the stack.
        return ThreadIdentity(tid: tid, stackLow: low, stackHigh: low > 0 ? raw.descriptor : 0)
    }

    package func isThread(_ descriptor: UInt64) -> Bool { raw.descriptor == descriptor }

    /// Reads the task that the thread runs now. Some 3 µs; no lock, no allocation, and not noticeable to the thread.
    package func read(_ layout: cll_task_layout, _ task: inout cll_task) -> Bool {
        var (layout, raw) = (layout, raw)
        return cll_task_read(&layout, &raw, &task) == 0
    }

    /// The job that it runs now; nil: the thread is gone.
    package func read(_ slots: cll_job_slots) -> cll_job? {
        var (slots, raw, job) = (slots, raw, cll_job())
        return cll_job_read(&slots, &raw, &job) == 0 ? job : nil
    }
}
