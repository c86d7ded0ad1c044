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
