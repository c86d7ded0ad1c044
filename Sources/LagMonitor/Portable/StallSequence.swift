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
/// Each iteration is a subscription: it starts with `for await` (``makeAsyncIterator()``) and receives every record that is reported from
/// then on, in order. Several iterations, of one value or of several, each receive all records. An iteration that starts before
/// ``StallMonitor/start()`` waits for the first record; all of them end with ``StallMonitor/stop()`` after the records that are
/// buffered, and at once when their task is cancelled.
///
/// At most ``capacity`` records are buffered for an iteration that does not keep up; further ones are counted in ``missed`` and not
/// delivered. Neither the monitored loops nor the monitor's threads wait for a subscriber. The code of the iteration runs on the
/// executor of its task: for a monitor that watches the main actor, use a task that is not isolated to it.
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
