internal import Dispatch
public import LagRunLoop

/// A named thread on an ``ObservedRunLoop`` as an executor: actors and tasks run on it, and their stalls are found on it, with the
/// actor's own function in the stack.
///
/// ```swift
/// import LagMonitor
/// import LagMonitorConcurrency
///
/// actor Store {
///     private let executor: RunLoopExecutor
///     nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
///     init(on executor: RunLoopExecutor) { self.executor = executor }
/// }
/// let executor = try RunLoopExecutor(name: "store")
/// try monitor.watch(executor.loop)
/// await withTaskExecutorPreference(executor) { await loadAll() }
/// ```
/// Each job (what a task does between two suspensions) is a callback of its own for whoever watches the loop. Jobs run in the order
/// they come, whatever their priority, in the loop's common modes.
///
/// The executor keeps its thread, and ends it when the last reference goes. An actor has to hold its executor: Swift does not.
/// A job is never lost: one that finds the thread ended (by ``ObservedRunLoop`` work that stops it) runs on a serial dispatch queue
/// instead, where it is not watched.
///
/// Cost: a job is one submission to the loop (a lock, some allocations), and a wake when the loop sleeps.
public final class RunLoopExecutor: SerialExecutor, TaskExecutor {
    private let thread: KeepAliveThread
    private let fallbackQueue: DispatchQueue

    /// Starts the thread.
    /// - Parameters:
    ///   - name: of the thread and its loop, for records and people.
    ///   - priority: of the thread; see ``ThreadPriority``.
    ///   - stackBytes: at least 64 KiB; 512 KiB unless given.
    /// - Throws: ``RunLoopError``.
    public init(name: String, priority: ThreadPriority = .inherited, stackBytes: Int = 512 * 1024) throws {
        thread = try KeepAliveThread(name: name, priority: priority, stackBytes: stackBytes)
        fallbackQueue = DispatchQueue(label: "\(name) afterwards")
    }

    /// The loop that the jobs run on: what to watch.
    public var loop: ObservedRunLoop { thread.loop }

    /// Whether the thread has ended, so that jobs run elsewhere.
    public var isFinished: Bool { thread.isFinished }

    /// Takes a job; for the concurrency runtime. Any thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        let ticket = JobTicket(UnownedJob(job), of: self, fallbackQueue)
        // If it is not taken, or dropped at the thread's end, the ticket runs it when it goes.
        thread.perform { ticket.run() }
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// Ends the program unless called on the executor's thread; for `assumeIsolated` and its like.
    public func checkIsolated() {
        guard isCurrent else { fatalError("not on the thread of executor '\(thread.name)'") }
    }

    /// Whether the calling thread is the executor's.
    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    private var isCurrent: Bool { thread.loop.isCurrent }
}
