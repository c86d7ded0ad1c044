public import Dispatch
public import LagOutput

/// Something that tells stalls: a ``StallMonitor``, or the test kit's `TestMonitor` in its place.
///
/// Whoever handles stalls had better ask for this than for a monitor: then it can be tested without real stalls.
public protocol StallSource: AnyObject, Sendable {
    /// Has every stall delivered to `handler` on `queue`, one at a time, in order. Any thread.
    @discardableResult
    func onStall(queue: DispatchQueue, _ handler: @escaping @Sendable (StallRecord) -> Void) -> StallHandler

    /// What happened so far. Any thread.
    var statistics: StallMonitorStatistics { get }
}

extension StallMonitor: StallSource {}
