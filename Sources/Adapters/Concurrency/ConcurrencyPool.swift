internal import CLagLinux
package import LagActivity
public import LagMonitor

/// The threads that run Swift's tasks at one priority, as a loop that can be watched. It finds a job that keeps its thread from
/// the other tasks, and a pool whose threads are all blocked or busy, so that no task of that priority makes progress.
///
/// ```swift
/// import LagMonitor
/// import LagMonitorConcurrency
///
/// let pools = try monitor.watchConcurrencyPool()      // pool.high, pool.medium
/// ```
/// The rules determine what is found:
/// - ``StallRules/callout`` (``StallRules/jobs``): a thread that runs one job of a task for longer than the threshold (`kind`:
///   `callout`), even while others are free. It blocks in a system call, a lock or a sleep, or computes. A task that awaits has
///   released its thread, and delays no other. The threads are found by their names, and read from outside: none is woken, and an
///   idle pool costs three readings of a clock an interval. At most 256 threads of all pools are watched at once; further ones
///   are watched when a place is free.
/// - ``StallRules/ping`` (``StallRules/pings``): a detached task of that priority is started now and then. If it does not begin
///   within the rule's time, the pool is stalled (`kind`: `ping`). Then every thread that runs a task's job for that pool is
///   sampled: the record's own stack is what most of them do, `workers` lists what each does, for up to 256 of them.
///
/// Where a job ends and the next one begins on the same thread is proved, not guessed. If perf events are permitted
/// (`kernel.perf_event_paranoid` 2 or less, no seccomp filter), the jobs that a suspicious thread begins are counted. Otherwise a
/// job counts as the same as long as its thread sleeps at most once between two samples. If a job often blocks for a moment, only
/// the parts between count; and a task that only yields, again and again, counts as one job.
///
/// On Linux each priority has a separate pool, with as many threads as there are processors (a queue of libdispatch, identified
/// by the names of its threads; seen with Swift 6.3). So work that is intended to take long belongs to a priority that is not
/// watched (`Task.detached(priority: .low)`), to separate threads, or into ``StallMonitor/expectingBlock(_:)``. Blocks of
/// `DispatchQueue.global()` use the same threads; they are not jobs of tasks, and do not count.
///
/// The main actor is not included: see ``PingedQueue``; nor are actors with an executor of their own. Everything here is safe
/// from any thread.
public final class ConcurrencyPool: PingableLoop, ThreadPoolLoop, MailboxLoop, NamedPool, Sendable {
    public let name: String
    /// The priority of the tasks that are started.
    public let priority: TaskPriority
    package let mailbox = PingMailbox()
    let threadName: cll_name
    private let mainQueue: UInt
    private let expectedBlocks: ExpectedBlockScope

    /// - Parameters:
    ///   - priority: any; those between the named ones share the pool of the next higher one.
    ///   - named: its name in records; by default `pool.` and the priority's name.
    public init(_ priority: TaskPriority = .medium, named: String? = nil) {
        self.priority = priority
        let quality = QualityOfService(priority)
        name = named ?? "pool.\(quality.priorityName)"
        let threadName = quality.threadName
        let mainQueue = UInt(bitPattern: cll_pool_main_queue())
        self.threadName = threadName
        self.mainQueue = mainQueue
        expectedBlocks = ExpectedBlockScope(mailbox.beacon) {
            threadName.isOfThisThread && Self.server(of: mainQueue) != cll_gettid()
        }
        cll_lock_prepare()
    }

    public var beacon: ActivityBeacon { mailbox.beacon }

    /// Thread 0: there are several.
    public var thread: ThreadIdentity { ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0) }

    public var publishesActivity: Bool { false }

    /// Starts a task that answers; does nothing while an earlier one has not begun. Allocates and may lock.
    public func ping() {
        guard mailbox.beginPing() else { return }
        Task.detached(priority: priority) { [mailbox] in mailbox.answer() }
    }

    var jobs: JobSource? { JobSource(.tasks, slots: TaskRuntime.slots) }

    package func findWorkers(_ tids: UnsafeMutableBufferPointer<Int32>) -> Int {
        let count = findThreads(tids)
        // Under `dispatchMain()`, such a thread serves the main queue, and so the main actor.
        let main = Self.server(of: mainQueue)
        guard main != 0 else { return count }
        var kept = 0
        var index = 0
        while index < count {
            if tids[index] != main {
                tids[kept] = tids[index]
                kept += 1
            }
            index += 1
        }
        return kept
    }

    /// The thread that serves a queue now; 0: none.
    private static func server(of queue: UInt) -> Int32 { queue == 0 ? 0 : cll_queue_owner(UnsafeRawPointer(bitPattern: queue)) }

    package var workFunction: UInt64 { cll_pool_job_function() }
}
