internal import Dispatch
public import LagRunLoop

/// An executor that is a named thread with an ``ObservedRunLoop``: actors and tasks run on it, and their stalls are found on it,
/// with the actor's own function in the stack.
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
/// For a watcher of the loop, each job (what a task does between two suspensions) is a separate callback. Jobs run in the order
/// of arrival, regardless of priority, in the loop's common modes.
///
/// The executor keeps its thread, and ends it when the last reference is released. An actor must hold its executor: Swift does
/// not. A job is never lost: if its thread has ended (by ``ObservedRunLoop`` work that stops it), it runs on a serial dispatch
/// queue instead, where it is not watched.
///
/// Cost: a job is one submission to the loop (a lock, some allocations), and a wake if the loop sleeps.
public final class RunLoopExecutor: SerialExecutor, TaskExecutor {
    private let thread: KeepAliveThread
    private let fallbackQueue: DispatchQueue

    /// Starts the thread.
    /// - Parameters:
    ///   - name: of the thread and its loop, for records and people.
    ///   - priority: of the thread; see ``ThreadPriority``.
    ///   - stackBytes: at least 64 KiB; 512 KiB by default.
    /// - Throws: ``RunLoopError``.
    public init(name: String, priority: ThreadPriority = .inherited, stackBytes: Int = 512 * 1024) throws {
        thread = try KeepAliveThread(name: name, priority: priority, stackBytes: stackBytes)
        fallbackQueue = DispatchQueue(label: "\(name) afterwards")
    }

    /// The loop on which the jobs run: the loop to watch.
    public var loop: ObservedRunLoop { thread.loop }

    /// Whether the thread has ended, so that jobs run elsewhere.
    public var isFinished: Bool { thread.isFinished }

    /// Accepts a job; called by the concurrency runtime. Any thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        let ticket = JobTicket(UnownedJob(job), of: self, fallbackQueue)
        // If it is not accepted, or dropped at the thread's end, the ticket runs it when it is released.
        thread.perform { ticket.run() }
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// Ends the program unless called on the executor's thread; for `assumeIsolated` and similar functions.
    public func checkIsolated() {
        guard isCurrent else { fatalError("not on the thread of executor '\(thread.name)'") }
    }

    /// Whether the calling thread is the executor's.
    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    private var isCurrent: Bool { thread.loop.isCurrent }
}
