internal import CLagLinux
internal import LagActivity

/// Reads which job a thread of a pool runs.
struct JobSource: Sendable {
    enum Work: Sendable {
        /// Jobs of tasks: a number for each task.
        case tasks
        /// Blocks of a dispatch queue: the number is the queue. A thread that goes from block to block without idling is at one
        /// job.
        case queues
    }

    /// The function that begins each job; 0: not known, and jobs cannot be counted.
    let function: UInt64
    private let work: Work
    private let slots: cll_job_slots
    private let mainQueue: UInt64

    /// - Parameter slots: returns nil if they lack what this kind of work needs.
    init?(_ work: Work, slots: cll_job_slots) {
        switch work {
        case .tasks: guard slots.task != 0 else { return nil }
        case .queues: guard slots.queue != 0 else { return nil }
        }
        self.work = work
        self.slots = slots
        function = work == .tasks ? cll_pool_job_function() : 0
        mainQueue = UInt64(UInt(bitPattern: cll_pool_main_queue()))
    }

    /// What a thread runs now; 0: no job, or one of the main queue, which is watched separately (`PingedQueue`). Nil: the thread
    /// is gone. Some µs; no lock, no allocation, and not noticeable to the thread.
    func job(of thread: JobThread) -> UInt64? {
        guard let found = thread.read(slots) else { return nil }
        if found.queue != 0, found.queue == mainQueue { return 0 }
        guard work == .queues else { return found.task }
        var slots = slots
        return found.queue == 0 || cll_job_is_manager(&slots, found.queue) != 0 ? 0 : found.queue
    }
}
