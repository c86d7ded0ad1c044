/// A loop that can be watched: something with a beacon, on a known thread.
///
/// ``ObservedRunLoop`` is one; an adapter to another event loop makes its own by giving it a beacon.
public protocol ObservableLoop: AnyObject, Sendable {
    /// Where the loop tells its activities.
    var beacon: ActivityBeacon { get }
    /// The thread that runs the loop.
    var thread: ThreadIdentity { get }
    /// The loop's name in records: `main`, or the thread's name.
    var name: String { get }
    /// The name of a mode by the number that stands in the beacon; any thread, may lock, not called by the watchdog.
    func modeName(_ number: UInt32) -> String?
}
