/// A loop that can be watched: something with a beacon, on a known thread.
///
/// ``ObservedRunLoop`` is one; an adapter to another event loop makes its own by giving it a beacon.
public protocol ObservableLoop: AnyObject, Sendable {
    /// Where the loop publishes its activities.
    var beacon: ActivityBeacon { get }
    /// The thread that runs the loop. Its id is 0 where it is unknown or changes: then no stack can be taken.
    var thread: ThreadIdentity { get }
    /// The loop's name in records: `main`, or the thread's name.
    var name: String { get }
    /// Whether the loop publishes its activities. One that does not can only be pinged or asked to tick. True unless said.
    var publishesActivity: Bool { get }
    /// The name of a mode by the number that is in the beacon; any thread, may lock, not called by the watchdog.
    /// Nil unless said: a loop without modes.
    func modeName(_ number: UInt32) -> String?
}

extension ObservableLoop {
    public var publishesActivity: Bool { true }
    public func modeName(_ number: UInt32) -> String? { nil }
}

/// A loop that can be asked for an answer: whatever runs what others give it, observed or not.
public protocol PingableLoop: ObservableLoop {
    /// Has the loop call ``ActivityBeacon/pong()`` when it gets to it. Returns at once. Any thread.
    func ping()

    /// Whether ``ping()`` neither locks nor allocates, so that the watchdog itself may call it; otherwise a thread of its
    /// own does. False unless said.
    var pingsWithoutLocking: Bool { get }
}

extension PingableLoop {
    public var pingsWithoutLocking: Bool { false }
}

/// A loop whose work is done now by one thread, now by another.
public protocol UnpinnedLoop: ObservableLoop {
    /// The kernel's id of the thread that works for it at present; 0: none, or not known. Called by the watchdog: no lock, no
    /// allocation.
    var presentThread: Int32 { get }
}

/// A loop for which several threads work at once: a pool.
public protocol ThreadPoolLoop: ObservableLoop {
    /// Fills in the kernel's ids of the threads that may be at work for it, as many as there is room for. Called by the watchdog: no
    /// lock, no allocation.
    /// - Returns: how many.
    func findWorkers(_ tids: UnsafeMutableBufferPointer<Int32>) -> Int

    /// Where the function begins that is on the stack of every thread that is at work, and on no idle one's. Called by the watchdog.
    var workFunction: UInt64 { get }
}

/// A loop that can call something at a fixed rate.
public protocol TickingLoop: ObservableLoop {
    /// Has `tick` called on the loop every `interval`, in whatever mode it runs, until the result is cancelled or released. Ticks
    /// that the loop misses are not made up; while it does not run there are no ticks. Any thread.
    /// - Parameter interval: less than a millisecond is taken as one.
    /// - Returns: nil when the loop has ended.
    func startTicking(every interval: Duration, _ tick: @escaping @Sendable () -> Void) -> (any LoopTicker)?
}

/// A loop of which it may not be known yet that it is one: watched all the same, so that its first stall is not missed.
package protocol CandidateLoop: ObservableLoop {
    /// Whether it is known to be a loop; once true, always true. Until then nothing of it is reported or counted. Any thread.
    var isConfirmed: Bool { get }
    /// Whether the stretch of work in which it was last seen may be none of a loop: until it comes back to its wait nothing of that is reported. Any thread.
    var isDoubtful: Bool { get }
}

extension CandidateLoop {
    package var isDoubtful: Bool { false }
}

/// Ticks in progress.
public protocol LoopTicker: AnyObject, Sendable {
    /// Ends them; twice is fine. Any thread. Called on the loop, no tick begins after it; called elsewhere, one may just be running.
    func cancel()
}
