/// Accepts what a loop publishes, but stores nothing, because no watchdog reads it.
public final class ActivityBeacon: Sendable {
    public init() {}

    @inlinable public func publish(_ activity: LoopActivity) {}

    @inlinable public func begin(_ activity: LoopActivity, at time: MonotonicTime) {}

    @inlinable public func wake(_ activity: LoopActivity, at time: MonotonicTime) {}

    @inlinable public func resume(_ activity: LoopActivity, at time: MonotonicTime) {}

    @inlinable public func pong() {}

    /// Runs `body`.
    @inlinable @discardableResult
    public func expectingBlock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try body()
    }

    @inlinable public func setMode(_ number: UInt32) {}

    public var activity: LoopActivity { .notRunning }

    public var sequence: UInt64 { 0 }

    public var mode: UInt32 { 0 }
}
