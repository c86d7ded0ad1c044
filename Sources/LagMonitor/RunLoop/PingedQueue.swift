internal import CLagLinux
public import Dispatch
internal import Glibc
public import LagActivity
internal import Synchronization

/// A dispatch queue that can be pinged and ticked. It needs no observer, so it works for queues, and for loops that drain a queue
/// and cannot be observed.
///
/// ```swift
/// import Dispatch
/// import LagMonitor
///
/// let watched = PingedQueue(.main)
/// ```
/// Its beacon publishes no activity (except `expected`, in ``StallMonitor/expectingBlock(_:)`` on a serial queue), and it has no
/// fixed thread: a queue's blocks run on changing threads. This is also true of the main queue in a program that runs
/// `dispatchMain()` or `@main` async, where `@MainActor` runs on it. The thread that runs a serial queue at the time of a stall
/// is read from the queue's state word. Everything here is safe from any thread.
///
/// A watch belongs to this object: keep it in order to end or pause the watch. Another object for the same queue counts as
/// another loop.
///
/// A block in the queue holds the beacon, not this object. On a concurrent queue, a ping is answered as soon as any thread is
/// free for it.
public final class PingedQueue: PingableLoop, TickingLoop, UnpinnedLoop, MailboxLoop, CountableQueue, Sendable {
    public let name: String
    private let queue: DispatchQueue
    package let mailbox = PingMailbox()
    /// The queue's address, for reading; nil if it cannot be determined.
    private let address: UInt?
    private let expectedBlocks: ExpectedBlockScope
    /// A timer's block counts in the queue like any other.
    private let hasTicked = Atomic<Bool>(false)

    /// - Parameters:
    ///   - queue: the queue to watch.
    ///   - named: its name in records; by default the queue's label, and `main` for the main queue.
    public init(_ queue: DispatchQueue, named: String? = nil) {
        self.queue = queue
        name = named ?? PingedQueue.name(of: queue)
        // Swift's class for queues keeps libdispatch's own object in its only property.
        let property = Mirror(reflecting: queue).children.first { $0.label == "__wrapped" }?.value
        let address = (property as? OpaquePointer).map { UInt(bitPattern: $0) }
        self.address = address
        expectedBlocks = ExpectedBlockScope(mailbox.beacon) { Self.owner(of: address) == cll_gettid() }
        cll_lock_prepare()
    }

    /// The thread that drains a serial queue, or runs a block of `sync` on it. For a concurrent queue, 0.
    package var presentThread: Int32 { Self.owner(of: address) }

    private static func owner(of address: UInt?) -> Int32 {
        address.map { cll_queue_owner(UnsafeRawPointer(bitPattern: $0)) } ?? 0
    }

    private static func name(of queue: DispatchQueue) -> String {
        // By its label: the object of the main queue is not always the same.
        if queue.label == DispatchQueue.main.label { return "main" }
        return queue.label.isEmpty ? "queue" : queue.label
    }

    public var beacon: ActivityBeacon { mailbox.beacon }

    /// Thread 0: the queue runs on changing threads.
    public var thread: ThreadIdentity { ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0) }

    public var publishesActivity: Bool { false }

    /// Submits a block that answers; does nothing while an earlier one is still in the queue. Allocates and may lock, like every
    /// submission to a queue.
    public func ping() {
        guard mailbox.beginPing() else { return }
        queue.async { [mailbox] in mailbox.answer() }
    }

    package func countWaiting() -> Int? {
        guard let address, let queue = UnsafeRawPointer(bitPattern: address), !hasTicked.load(ordering: .relaxed) else {
            return nil
        }
        // A run loop takes everything that waits in the main queue before it runs the first block.
        if queue == cll_pool_main_queue(), presentThread == getpid() { return nil }
        let count = Int(cll_queue_waiting(queue))
        if count == Int(CLL_QUEUE_COUNTED_MAX) { return count }
        return count < 0 ? nil : max(0, count - (mailbox.isPinged ? 1 : 0))
    }

    /// Calls `tick` on the queue every `interval`, first one interval from now. Ticks missed while the queue was busy are merged
    /// into one.
    /// - Parameters:
    ///   - interval: less than a millisecond is taken as one millisecond.
    ///   - tick: released with the ticks, after a call in progress.
    /// - Returns: an object that ends the ticks, by ``LoopTicker/cancel()`` or by its release. Never nil: a queue does not end.
    public func startTicking(every interval: Duration, _ tick: @escaping @Sendable () -> Void) -> (any LoopTicker)? {
        let interval = max(interval, .milliseconds(1))
        hasTicked.store(true, ordering: .relaxed)
        return IndependentTimer(after: interval, interval: interval, queue: queue, handler: tick)
    }
}
