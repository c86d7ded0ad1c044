// Public, so that what the loop's thread calls is inlined into the adapter's own module: a store instead of a call.
public import CLagBeacon

/// Where a loop publishes what it is doing: one cache line (and one for long stretches), written only by the loop's own thread.
///
/// Cost: ``publish(_:)`` is one release store and one relaxed load (under 2 ns, `make bench` measures it). No call allocates,
/// locks or makes a system call, except that answering an armed beacon posts a semaphore; the watchdog arms a beacon only while
/// it is parked or while it times a stall.
///
/// Only the loop's own thread may call the writing functions; any thread may call the reading ones.
// Sendable without a check: the stored properties are immutable. The pointer leads to memory that lives as long as this object;
// the other property only keeps that memory. Every access to it is an atomic operation (see clb_beacon.h for who writes what).
public final class ActivityBeacon: @unchecked Sendable {
    @usableFromInline package let raw: UnsafeMutablePointer<clb_beacon>

    /// Keeps memory that does not belong to the beacon; nil: it belongs to the beacon.
    private let memory: AnyObject?

    public init() {
        guard let memory = clb_beacon_create() else { fatalError("no memory for a beacon") }
        raw = memory
        self.memory = nil
    }

    /// A beacon in memory of another process, for reading only.
    /// - Parameter memory: keeps it mapped.
    package init(at raw: UnsafeMutablePointer<clb_beacon>, in memory: AnyObject) {
        self.raw = raw
        self.memory = memory
    }

    deinit { if memory == nil { clb_beacon_destroy(raw) } }

    /// Publishes an activity. Own thread only.
    @inlinable public func publish(_ activity: LoopActivity) { clb_beacon_publish(raw, activity.rawValue) }

    /// A new callout begins: own thread only.
    /// - Parameter time: the time that the loop has read, at the latest after the previous callout.
    @inlinable public func begin(_ activity: LoopActivity, at time: MonotonicTime) { begin(activity, at: time.nanoseconds) }

    /// The loop woke up, or began to run: it is no longer idle. Un-parks a parked watchdog. Own thread only.
    @inlinable public func wake(_ activity: LoopActivity, at time: MonotonicTime) { wake(activity, at: time.nanoseconds) }

    /// The loop runs again after a moment that was too short to count as idle. Un-parks a parked watchdog. Own thread only.
    @inlinable public func resume(_ activity: LoopActivity, at time: MonotonicTime) { resume(activity, at: time.nanoseconds) }

    /// The loop reached a ping (``PingableLoop/ping()``). Called on the loop, by the thread that serves it.
    @inlinable public func pong() { clb_beacon_pong(raw, clb_now_ns()) }

    /// Runs `body`, which is expected to block: the time in it is not a stall, and what follows is a separate stretch of work.
    ///
    /// Scopes may be nested; the outermost counts. An observed run inside a scope is watched as usual. An adapter to a loop whose
    /// runs nest must, after the exit of an inner run, publish the activity that the beacon had before the run's entry: with
    /// ``begin(_:at:)``, or with ``wake(_:at:)`` if it was `expected`. Own thread only; some 50 ns.
    @inlinable @discardableResult
    public func expectingBlock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        let outer = activity
        // Outside a run the loop is not watched, so there is nothing to exclude.
        guard outer.isWorking else { return try body() }
        begin(.expected, at: clb_now_ns())
        // As after a sleep: the watchdog may have parked meanwhile.
        defer { wake(outer, at: clb_now_ns()) }
        return try body()
    }

    /// The number of the mode in which the loop runs; 0: no mode. Own thread only.
    @inlinable public func setMode(_ number: UInt32) { clb_beacon_set_mode(raw, number) }

    /// What the loop is doing now. Any thread.
    public var activity: LoopActivity { LoopActivity(rawValue: UInt8(truncatingIfNeeded: clb_beacon_word(raw))) ?? .notRunning }

    /// How many activities were published so far. Any thread.
    public var sequence: UInt64 { clb_beacon_word(raw) >> 8 }

    /// The number of the present mode. Any thread.
    public var mode: UInt32 { clb_beacon_mode(raw) }
}

/// The same with a time of `CLOCK_MONOTONIC` in nanoseconds.
extension ActivityBeacon {
    @inlinable package func begin(_ activity: LoopActivity, at nanoseconds: UInt64) {
        clb_beacon_begin(raw, activity.rawValue, nanoseconds)
    }

    @inlinable package func wake(_ activity: LoopActivity, at nanoseconds: UInt64) {
        clb_beacon_wake(raw, activity.rawValue, nanoseconds)
    }

    @inlinable package func resume(_ activity: LoopActivity, at nanoseconds: UInt64) {
        clb_beacon_resume(raw, activity.rawValue, nanoseconds)
    }
}
