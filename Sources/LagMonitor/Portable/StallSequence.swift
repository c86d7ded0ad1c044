public import LagOutput
internal import LagRunLoop

/// The stalls that a monitor reports, as an asynchronous sequence.
///
/// ```swift
/// import LagMonitor
///
/// func logStalls(of monitor: StallMonitor) async {
///     for await stall in monitor.stalls { print(stall.message) }
/// }
/// ```
///
/// Each iteration is a subscription: it starts with `for await` (``makeAsyncIterator()``) and receives every record that is
/// reported from then on, in order. If there are several iterations, of one value or of several, each receives all records. An
/// iteration that starts before ``StallMonitor/start()`` waits for the first record. Every iteration ends with
/// ``StallMonitor/stop()``, after the buffered records; it ends at once when its task is cancelled.
///
/// At most ``capacity`` records are buffered for an iteration that does not keep up; further ones are counted in ``missed`` and
/// not delivered. The monitored loops and the monitor's threads never wait for a subscriber. The iteration's code runs on the
/// executor of its task: if the monitor watches the main actor, use a task that is not isolated to it.
public struct StallSequence: AsyncSequence, Sendable {
    /// A record, as handlers receive it.
    public typealias Element = StallRecord
    /// It does not throw.
    public typealias Failure = Never

    /// Records that are buffered for one iteration.
    public static let capacity = 256

    private let subscriptions: StallSubscriptions
    private let misses = StallSubscriptions.Misses()

    package init(_ subscriptions: StallSubscriptions) { self.subscriptions = subscriptions }

    /// Records that the iterations of this value did not receive because their buffer was full. Any thread.
    public var missed: UInt64 { misses.count.withLock { $0 } }

    /// Subscribes. The subscription ends with the iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: subscriptions.subscribe(misses, capacity: Self.capacity).makeAsyncIterator())
    }

    /// One subscription.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncStream<StallRecord>.Iterator

        /// The next record; nil when the monitor was stopped or the task was cancelled.
        public mutating func next() async -> StallRecord? { await base.next() }

        /// The same for a caller that is isolated to an actor.
        @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
        public mutating func next(isolation actor: isolated (any Actor)?) async -> StallRecord? {
            await base.next(isolation: actor)
        }
    }
}
