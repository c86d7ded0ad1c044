internal import CLagLinux
internal import LagActivity

/// Where Swift's runtime and libdispatch keep what a thread runs, in this process: learned once, from tasks and a queue of our own (cll_jobs.h).
enum JobSlots {
    /// Runs a task's job at once, on the thread that enqueues it: no thread of a pool is needed, and none is waited for.
    private final class InlineExecutor: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) { UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor()) }

        func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }
    }

    /// Written by tasks that run one after the other on the thread that makes them.
    // Unchecked: the tasks are over when their maker reads it, which is on the same thread; one that were not would be seen by `tasks`, and never freed.
    private final class Learner: @unchecked Sendable {
        let raw = UnsafeMutablePointer<cll_job_learner>.allocate(capacity: 1)

        init() { raw.initialize(to: cll_job_learner()) }
        deinit { raw.deallocate() }
    }

    private static let tasks = 4

    static let present: cll_job_slots = {
        var slots = cll_job_slots(task: 0, queue: 0, task_id: -1, label: 0)
        _ = cll_job_learn_queue(&slots)
        let learner = Learner()
        let executor = InlineExecutor()
        for number in 1...UInt32(tasks) {
            Task(executorPreference: executor) { cll_job_learner_in_task(learner.raw) }
            // A runtime that does not run it at once is another one than this was made for.
            guard learner.raw.pointee.tasks == number else { return slots }
            cll_job_learner_after_task(learner.raw)
        }
        _ = cll_job_learner_finish(learner.raw, &slots)
        return slots
    }()
}
