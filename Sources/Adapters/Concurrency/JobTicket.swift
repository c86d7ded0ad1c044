internal import Dispatch
internal import Synchronization

/// One submitted job: it runs once, on the thread or, if the thread drops it, on a queue.
final class JobTicket: Sendable {
    private let job: UnownedJob
    private let executor: RunLoopExecutor
    private let fallbackQueue: DispatchQueue
    private let hasRun = Atomic<Bool>(false)

    init(_ job: UnownedJob, of executor: RunLoopExecutor, _ fallbackQueue: DispatchQueue) {
        self.job = job
        self.executor = executor
        self.fallbackQueue = fallbackQueue
    }

    deinit {
        guard !hasRun.load(ordering: .acquiring) else { return }
        // The thread drops work only after its last callback, so nothing runs concurrently with this.
        fallbackQueue.async { [job, executor] in Self.run(job, on: executor) }
    }

    /// On the executor's thread.
    func run() {
        guard !hasRun.exchange(true, ordering: .acquiringAndReleasing) else { return }
        Self.run(job, on: executor)
    }

    private static func run(_ job: UnownedJob, on executor: RunLoopExecutor) {
        job.runSynchronously(isolatedTo: executor.asUnownedSerialExecutor(), taskExecutor: executor.asUnownedTaskExecutor())
    }
}
