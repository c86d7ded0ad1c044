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
