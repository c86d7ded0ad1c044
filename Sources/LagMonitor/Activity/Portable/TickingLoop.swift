/// A loop that can call something at a fixed rate.
public protocol TickingLoop: ObservableLoop {
    /// Calls `tick` on the loop every `interval`, in whatever mode it runs, until the result is cancelled or released. Ticks that
    /// the loop misses are not made up; while it does not run, there are no ticks. Any thread.
    /// - Parameter interval: less than a millisecond is taken as one millisecond.
    /// - Returns: nil if the loop has ended.
    func startTicking(every interval: Duration, _ tick: @escaping @Sendable () -> Void) -> (any LoopTicker)?
}

/// Ticks in progress.
public protocol LoopTicker: AnyObject, Sendable {
    /// Ends them; calling it twice is allowed. Any thread. If called on the loop, no tick begins after it; if called elsewhere,
    /// one may be running.
    func cancel()
}
