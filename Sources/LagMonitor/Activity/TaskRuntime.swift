internal import CLagBeacon
package import CLagLinux

/// Where Swift's runtime and libdispatch store what a thread runs, in this process: learned once, from tasks and a queue created
/// for this (cll_jobs.h, cll_task.h).
package enum TaskRuntime {
    /// The token of the innermost context of the running task; 0: none. Bound by the program's tasks, and read from outside.
    @TaskLocal package static var context: UInt64 = 0

    /// Where a thread's present work is read from outside. What could not be learned is unknown in it.
    package static var layout: cll_task_layout { learned.layout }

    package static var slots: cll_job_slots { learned.layout.slots }

    /// Whether a thread's task can be read; a task created for this has been read correctly.
    package static var isVerified: Bool { learned.isVerified }

    /// Runs a task's job at once, on the thread that enqueues it: it needs no thread of a pool and waits for none.
    private final class InlineExecutor: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) { UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor()) }

        func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }
    }

    /// Written by tasks that run one after the other on the thread that creates them.
    // Unchecked: the tasks are over when the same thread reads it. If one were not, `tasks` would show it; this is never freed.
    private final class Learner: @unchecked Sendable {
        let jobs = UnsafeMutablePointer<cll_job_learner>.allocate(capacity: 1)
        let tasks = UnsafeMutablePointer<cll_task_learner>.allocate(capacity: 1)
        var layout = cll_task_layout()
        var isVerified = false

        init() {
            jobs.initialize(to: cll_job_learner())
            tasks.initialize(to: cll_task_learner())
        }
        deinit {
            jobs.deallocate()
            tasks.deallocate()
        }
    }

    /// The properties of a task used for learning: each task differs from the others in all of them.
    private struct Truth: Sendable {
        let name: String
        let priority: TaskPriority
        let value: UInt64

        static let all = [
            Truth(name: "lagmonitor.first", priority: .low, value: 0x1a95_0001_2d5e_8001),
            Truth(name: "lagmonitor.second", priority: .high, value: 0x1a95_0002_3d6f_8002),
            Truth(name: "lagmonitor.third", priority: .medium, value: 0x1a95_0003_4d70_8003),
            Truth(name: "lagmonitor.fourth", priority: .background, value: 0x1a95_0004_5d81_8004),
        ]

        /// The task-local is bound in this task, and another of the program's could be before it.
        func run(_ body: (UnsafePointer<cll_task_truth>) -> Void) {
            name.withCString { name in
                var truth = cll_task_truth(name: name, key: TaskRuntime.key, value: value, priority: UInt8(priority.rawValue))
                TaskRuntime.$context.withValue(value) { TaskRuntime.$shadow.withValue(true) { body(&truth) } }
            }
        }
    }

    @TaskLocal private static var shadow = false

    private static var key: UInt64 { UInt64(UInt(bitPattern: Unmanaged.passUnretained($context).toOpaque())) }

    private static let learned: (layout: cll_task_layout, isVerified: Bool) = {
        let learner = Learner()
        learner.layout.slots = cll_job_slots(task: 0, queue: 0, task_id: -1, label: 0)
        learner.layout.priority = -1
        learner.layout.name = -1
        learner.layout.local = -1
        learner.layout.block = -1
        _ = cll_job_learn_queue(&learner.layout.slots)
        let executor = InlineExecutor()
        for (index, truth) in Truth.all.enumerated() {
            Task.detached(name: truth.name, executorPreference: executor, priority: truth.priority) {
                truth.run { truth in
                    cll_job_learner_in_task(learner.jobs)
                    cll_task_learner_in_task(learner.tasks, truth)
                }
            }
            // A runtime that does not run it at once is not the one for which this was made.
            guard learner.jobs.pointee.tasks == index + 1 else { return (learner.layout, false) }
            cll_job_learner_after_task(learner.jobs)
        }
        guard cll_job_learner_finish(learner.jobs, &learner.layout.slots) != 0, cll_task_layout_is_known() != 0 else {
            return (learner.layout, false)
        }
        cll_task_learner_finish(learner.tasks, &learner.layout)
        learner.layout.key = key
        learner.layout.running = clb_context_place()
        verify(learner, on: executor)
        return (learner.layout, learner.isVerified)
    }()

    /// A task compares its own properties with those read from outside. Wrong ones are not used.
    private static func verify(_ learner: Learner, on executor: InlineExecutor) {
        guard cll_memory_prepare() == 0, let thread = JobThread(tid: cll_gettid()) else { return }
        let truth = Truth(name: "lagmonitor.verified", priority: .high, value: 0x1a95_0005_6d92_8005)
        Task.detached(name: truth.name, executorPreference: executor, priority: truth.priority) {
            truth.run { _ in
                var task = cll_task()
                let before = clb_context_get_running()
                let running = clb_context_running(token: truth.value &+ 1, task: truth.value &+ 2)
                clb_context_set_running(running)
                let isRead = thread.read(learner.layout, &task)
                clb_context_set_running(before)
                guard isRead, task.address != 0 else { return }
                learner.isVerified = true
                if task.priority != truth.priority.rawValue { learner.layout.priority = -1 }
                if task.nameText != truth.name { learner.layout.name = -1 }
                if task.local != truth.value { learner.layout.local = -1 }
                if task.running_token != running.token || task.running_task != running.task { learner.layout.running = 0 }
                if task.block == 0 { learner.layout.block = -1 }
            }
        }
    }

    /// The calling thread's present task; 0: none. Some ns.
    package static var currentTask: UInt64 { UInt64(UInt(bitPattern: cll_task_current())) }
}

extension cll_task {
    /// The task's name; nil: none.
    package var nameText: String? {
        guard name_length > 0 else { return nil }
        return withUnsafeBytes(of: name) { String(decoding: $0.prefix(Int(name_length)), as: UTF8.self) }
    }

    /// The names of the chain of tasks that wait for it, each for the one before.
    package var awaiterTexts: [String] {
        withUnsafeBytes(of: awaiter_lengths) { lengths in
            withUnsafeBytes(of: awaiters) { names in
                lengths.indices.prefix { lengths[$0] > 0 }.map { index in
                    let name = names[(index * Int(CLL_TASK_NAME_BYTES))...].prefix(Int(lengths[index]))
                    return String(decoding: name, as: UTF8.self)
                }
            }
        }
    }
}
