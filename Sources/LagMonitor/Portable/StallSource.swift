public import Dispatch
public import LagOutput

/// Something that reports stalls: a ``StallMonitor``, or the test kit's `TestMonitor` in its place.
///
/// Code that handles stalls takes this protocol rather than a monitor, so that it can be tested without real stalls.
public protocol StallSource: AnyObject, Sendable {
    /// Has every stall delivered to `handler` on `queue`, one at a time, in order. Any thread.
    @discardableResult
    func onStall(queue: DispatchQueue, _ handler: @escaping @Sendable (StallRecord) -> Void) -> StallHandler

    /// The same, `includesSuppressed` also of the stalls that the source's limits hold back: for who counts stalls. Their records have the
    /// ``StallRecord/sequence`` 0. Unless a source has a way of its own, nothing more is delivered than to other handlers.
    @discardableResult
    func onStall(
        queue: DispatchQueue,
        includesSuppressed: Bool,
        _ handler: @escaping @Sendable (StallRecord) -> Void
    ) -> StallHandler

    /// Every stall from the start of an iteration on. Any thread.
    var stalls: StallSequence { get }

    /// What happened so far. Any thread.
    var statistics: StallMonitorStatistics { get }

    /// ``StallMonitorConfiguration/labels`` of the lines, for who reports stalls in another way; none unless said. Any thread.
    var labels: [String: String] { get }
}

extension StallSource {
    public var labels: [String: String] { [:] }

    @discardableResult
    public func onStall(
        queue: DispatchQueue,
        includesSuppressed: Bool,
        _ handler: @escaping @Sendable (StallRecord) -> Void
    ) -> StallHandler { onStall(queue: queue, handler) }
}

extension StallMonitor: StallSource {
    public var labels: [String: String] { configuration.labels }
}
