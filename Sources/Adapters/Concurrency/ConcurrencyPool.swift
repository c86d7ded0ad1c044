internal import CLagLinux
package import LagActivity
public import LagMonitor

/// The threads that run Swift's tasks at one priority, as something that can be watched: when all of them are blocked or busy, no task of
/// that priority gets on.
///
/// ```swift
/// import LagMonitor
/// import LagMonitorConcurrency
///
/// let pools = try monitor.watchConcurrencyPool()      // pool.high, pool.medium, pool.low, pool.background
/// ```
/// How: a detached task of that priority is started now and then, and a pool in which it does not begin for the rule's time is
/// stalled (`kind`: `ping`). Then every thread that runs a task's job for that pool is sampled: the record's own stack is what most
/// of them do, `workers` says what each does, up to 256 of them. On Linux each priority has a pool of its own, of as many threads as there are processors
/// (a queue of libdispatch; distinguished by the names of its threads; seen with Swift 6.3).
///
/// The main actor is not among them: see ``PingedQueue``; nor are actors with an executor of their own. Everything here is safe from any
/// thread.
public final class ConcurrencyPool: PingableLoop, ThreadPoolLoop, MailboxLoop, Sendable {
    public let name: String
    /// Of the tasks that are started.
    public let priority: TaskPriority
    package let mailbox = PingMailbox()
    private let threadName: cll_name
    private let mainQueue: UInt

    /// - Parameters:
    ///   - priority: any; those between the named ones share the pool of the next higher one.
    ///   - named: its name in records; `pool.` and the priority's name unless given.
    public init(_ priority: TaskPriority = .medium, named: String? = nil) {
        self.priority = priority
        let quality = QualityOfService(priority)
        name = named ?? "pool.\(quality.priorityName)"
        threadName = quality.threadName
        mainQueue = UInt(bitPattern: cll_pool_main_queue())
        cll_lock_prepare()
    }

    public var beacon: ActivityBeacon { mailbox.beacon }

    /// Thread 0: there are several.
    public var thread: ThreadIdentity { ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0) }

    public var publishesActivity: Bool { false }

    /// Nil: a pool has no modes.
    public func modeName(_ number: UInt32) -> String? { nil }

    /// Starts a task that answers; nothing while an earlier one has not begun. Allocates and may lock.
    public func ping() {
        guard mailbox.beginPing() else { return }
        Task.detached(priority: priority) { [mailbox] in mailbox.answer() }
    }

    public func findWorkers(_ tids: UnsafeMutableBufferPointer<Int32>) -> Int {
        var name = threadName
        let count = cll_pool_threads(&name, tids.baseAddress, tids.count)
        // In `dispatchMain()` the main queue, and so the main actor, is served by such a thread.
        let main = mainQueue == 0 ? 0 : cll_queue_owner(UnsafeRawPointer(bitPattern: mainQueue))
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

    public var workFunction: UInt64 { cll_pool_job_function() }
}
