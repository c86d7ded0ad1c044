public import Dispatch
public import LagOutput

/// Something that reports stalls: a ``StallMonitor``, or the test kit's `TestMonitor` in its place.
///
/// Code that handles stalls can take this protocol instead of a monitor, so that it can be tested without real stalls.
public protocol StallSource: AnyObject, Sendable {
    /// Delivers every stall to `handler` on `queue`, one at a time, in order. Any thread.
    @discardableResult
    func onStall(queue: DispatchQueue, _ handler: @escaping @Sendable (StallRecord) -> Void) -> StallHandler

    /// The same. With `includesSuppressed` it also delivers the stalls that the source's limits hold back, for code that counts
    /// stalls. Their records have the ``StallRecord/sequence`` 0. By default, a source delivers the same stalls as to other
    /// handlers.
    @discardableResult
    func onStall(
        queue: DispatchQueue,
        includesSuppressed: Bool,
        _ handler: @escaping @Sendable (StallRecord) -> Void
    ) -> StallHandler

    /// Every stall from the start of an iteration on. Any thread.
    var stalls: StallSequence { get }

    /// The counts so far. Any thread.
    var statistics: StallMonitorStatistics { get }

    /// ``StallMonitorConfiguration/labels`` of the lines, for code that reports stalls in another way; empty by default. Any
    /// thread.
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
