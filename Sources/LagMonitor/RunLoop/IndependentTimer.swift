public import Dispatch
public import LagActivity
internal import Synchronization

/// A timer that is no item of any run loop: it fires on a dispatch queue, whatever mode a loop is in and however long it stalls.
///
/// It runs from its creation until ``cancel()`` or its release. Fire points missed because the queue was busy are merged into one.
/// It follows the monotonic clock. Everything here is safe from any thread.
public final class IndependentTimer: Sendable {
    private let source: Mutex<(any DispatchSourceTimer)?>

    /// - Parameters:
    ///   - delay: until it fires first.
    ///   - interval: between fire points; nil fires once.
    ///   - leeway: how much later the system may fire it.
    ///   - queue: where the handler runs; a serial queue of its own unless given.
    ///   - handler: captures its owner weakly where the owner holds the timer.
    public init(
        after delay: Duration,
        interval: Duration? = nil,
        leeway: Duration = .zero,
        queue: DispatchQueue? = nil,
        handler: @escaping @Sendable () -> Void
    ) {
        let source = DispatchSource.makeTimerSource(queue: queue ?? DispatchQueue(label: "lagmonitor.timer"))
        source.setEventHandler(handler: handler)
        source.schedule(
            deadline: .now() + delay.dispatchInterval,
            repeating: interval.map { max($0, .nanoseconds(1)).dispatchInterval } ?? .never,
            leeway: leeway.dispatchInterval
        )
        source.resume()
        self.source = Mutex(source)
    }

    deinit { cancel() }

    /// Whether it can still fire.
    public var isValid: Bool { source.withLock { $0 != nil } }

    /// Ends it and releases its handler, after a call in progress. Cancelling twice is fine.
    public func cancel() {
        source.withLock { source in
            source?.setEventHandler(handler: nil)
            source?.cancel()
            source = nil
        }
    }
}

// Its tick begins on the queue, so one cancelled on a serial queue does not begin there any more.
extension IndependentTimer: LoopTicker {}

extension Duration {
    fileprivate var dispatchInterval: DispatchTimeInterval {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow, scaled < Int64.max - 1_000_000_000 else { return .never }
        return .nanoseconds(max(0, Int(scaled + attoseconds / 1_000_000_000)))
    }
}
