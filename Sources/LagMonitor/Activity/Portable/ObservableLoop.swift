/// A loop that can be watched: something with a beacon, on a known thread.
///
/// ``ObservedRunLoop`` is one; an adapter to another event loop creates one by giving the loop a beacon.
public protocol ObservableLoop: AnyObject, Sendable {
    /// Where the loop publishes its activities.
    var beacon: ActivityBeacon { get }
    /// The thread that runs the loop. Its id is 0 if it is unknown or changes: then no stack can be captured.
    var thread: ThreadIdentity { get }
    /// The loop's name in records: `main`, or the thread's name.
    var name: String { get }
    /// Whether the loop publishes its activities. If not, it can only be pinged or ticked. True by default.
    var publishesActivity: Bool { get }
    /// The name of a mode by the number in the beacon; any thread, may lock, not called by the watchdog. Nil by default: a loop
    /// without modes.
    func modeName(_ number: UInt32) -> String?
}

extension ObservableLoop {
    public var publishesActivity: Bool { true }
    public func modeName(_ number: UInt32) -> String? { nil }
}

/// A loop that can be pinged: anything that runs submitted work, observed or not.
public protocol PingableLoop: ObservableLoop {
    /// Makes the loop call ``ActivityBeacon/pong()`` when it reaches the ping. Returns at once. Any thread.
    func ping()

    /// Whether ``ping()`` neither locks nor allocates, so that the watchdog itself may call it; otherwise a separate thread does.
    /// False by default.
    var pingsWithoutLocking: Bool { get }
}

extension PingableLoop {
    public var pingsWithoutLocking: Bool { false }
}

/// A loop whose work moves between threads, one at a time.
public protocol UnpinnedLoop: ObservableLoop {
    /// The kernel's id of the thread that works for it now; 0: none, or not known. Called by the watchdog: no lock, no
    /// allocation.
    var presentThread: Int32 { get }
}

/// A loop for which several threads work at once: a pool.
public protocol ThreadPoolLoop: ObservableLoop {
    /// Fills in the kernel's ids of the threads that may be working for it, as many as fit. Called by the watchdog: no lock, no
    /// allocation.
    /// - Returns: the number of ids.
    func findWorkers(_ tids: UnsafeMutableBufferPointer<Int32>) -> Int

    /// The start of the function that is on the stack of every working thread, and on no idle one's. Called by the watchdog.
    var workFunction: UInt64 { get }
}

/// A loop that can call something at a fixed rate.
public protocol TickingLoop: ObservableLoop {
    /// Calls `tick` on the loop every `interval`, in whatever mode it runs, until the result is cancelled or released. Ticks that
    /// the loop misses are not made up; while it does not run, there are no ticks. Any thread.
    /// - Parameter interval: less than a millisecond is taken as one millisecond.
    /// - Returns: nil if the loop has ended.
    func startTicking(every interval: Duration, _ tick: @escaping @Sendable () -> Void) -> (any LoopTicker)?
}

/// Something that may turn out to be a loop: it is watched from the beginning, so that its first stall is not missed.
package protocol CandidateLoop: ObservableLoop {
    /// Whether it is known to be a loop; once true, always true. Until then nothing about it is reported or counted. Any thread.
    var isConfirmed: Bool { get }
    /// Whether its latest stretch of work may not be a loop's: nothing more of it is reported until it returns to its wait, or
    /// is found to keep a client waiting. Any thread.
    var isDoubtful: Bool { get }
    /// A stall of it is reported. The reporter's thread.
    func recordReport()
}

extension CandidateLoop {
    package var isDoubtful: Bool { false }
    package func recordReport() {}
}

/// Ticks in progress.
public protocol LoopTicker: AnyObject, Sendable {
    /// Ends them; calling it twice is allowed. Any thread. If called on the loop, no tick begins after it; if called elsewhere,
    /// one may be running.
    func cancel()
}
