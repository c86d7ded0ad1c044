package import CLagLinux
internal import Glibc

/// A thread of a pool, as its job can be read from outside.
package struct JobThread: Sendable {
    package let tid: Int32
    private let raw: cll_job_thread

    /// - Returns: nil when the thread is gone, or glibc does not say where it keeps what belongs to it.
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
        // The descriptor lies at the upper end of the stack.
        return ThreadIdentity(tid: tid, stackLow: low, stackHigh: low > 0 ? raw.descriptor : 0)
    }

    /// Whether that is its descriptor.
    package func isThread(_ descriptor: UInt64) -> Bool { raw.descriptor == descriptor }

    /// The task that it runs at present. Some 3 µs; no lock, no allocation, and the thread notices nothing.
    package func read(_ layout: cll_task_layout, _ task: inout cll_task) -> Bool {
        var (layout, raw) = (layout, raw)
        return cll_task_read(&layout, &raw, &task) == 0
    }

    fileprivate func read(_ slots: cll_job_slots) -> cll_job? {
        var (slots, raw, job) = (slots, raw, cll_job())
        return cll_job_read(&slots, &raw, &job) == 0 ? job : nil
    }
}

/// Where it is read which job a thread of a pool runs.
package struct JobSource: Sendable {
    package enum Work: Sendable {
        /// Jobs of tasks: a number for each task.
        case tasks
        /// Blocks of a dispatch queue: the queue. One that goes from block to block without a rest is at one job.
        case queues
    }

    /// The function that begins each job; 0: not known, and none can be counted.
    package let function: UInt64
    private let work: Work
    private let slots: cll_job_slots
    private let mainQueue: UInt64

    /// - Parameter slots: nil is returned where what the work needs is not known of them.
    package init?(_ work: Work, slots: cll_job_slots) {
        switch work {
        case .tasks: guard slots.task != 0 else { return nil }
        case .queues: guard slots.queue != 0 else { return nil }
        }
        self.work = work
        self.slots = slots
        function = work == .tasks ? cll_pool_job_function() : 0
        mainQueue = UInt64(UInt(bitPattern: cll_pool_main_queue()))
    }

    /// What a thread runs now; 0: no job, or one of the main queue, which is watched as such (`PingedQueue`). Nil: the thread is gone. Some
    /// µs; no lock, no allocation, and the thread notices nothing.
    package func job(of thread: JobThread) -> UInt64? {
        guard let found = thread.read(slots) else { return nil }
        if found.queue != 0, found.queue == mainQueue { return 0 }
        guard work == .queues else { return found.task }
        var slots = slots
        return found.queue == 0 || cll_job_is_manager(&slots, found.queue) != 0 ? 0 : found.queue
    }
}

/// A pool whose threads can be watched one by one.
package protocol WorkerPool: ObservableLoop {
    /// Nil: it cannot be found out what a thread runs.
    var jobs: JobSource? { get }

    /// That of its threads, as the kernel has it.
    var threadName: cll_name { get }

    /// Fills in the kernel's ids of the pool's threads, as many as there is room for, whatever they do at present. Some 6 µs a thread of the process.
    /// - Returns: how many.
    func findThreads(_ tids: UnsafeMutableBufferPointer<Int32>) -> Int
}

extension WorkerPool {
    package func findThreads(_ tids: UnsafeMutableBufferPointer<Int32>) -> Int {
        var name = threadName
        return cll_pool_threads(&name, tids.baseAddress, tids.count)
    }
}
