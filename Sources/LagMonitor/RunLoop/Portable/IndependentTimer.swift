public import Dispatch
public import LagActivity
internal import LagModel

/// A timer that does not belong to a run loop: it fires on a dispatch queue, in whatever mode a loop is and however long it
/// stalls.
///
/// It runs from its creation until ``cancel()`` or its release. Fire points missed because the queue was busy are merged into
/// one. It follows the monotonic clock. Everything here is safe from any thread.
public final class IndependentTimer: Sendable {
    /// Shared with the handler, which must not hold the timer itself. The source holds the handler, and the handler holds this.
    /// The cycle is broken when the timer fires for the last time, is cancelled, or is released.
    private final class Control: Sendable {
        // Sendable without a check: libdispatch locks its objects itself.
        private struct Source: @unchecked Sendable {
            let timer: any DispatchSourceTimer
        }

        private let source = PthreadMutex<Source?>(nil)

        var isValid: Bool { source.withLock { $0 != nil } }

        /// The source has its handler and its times; it fires from now on.
        func start(_ timer: any DispatchSourceTimer) {
            let started = Source(timer: timer)
            source.withLock { $0 = started }
            timer.resume()
        }

        func cancel() {
            let ended = source.withLock { source in
                defer { source = nil }
                return source
            }
            // Outside the lock: objects that the handler captured may be deinitialised here.
            ended?.timer.setEventHandler(handler: nil)
            ended?.timer.cancel()
        }
    }

    private let control: Control

    /// - Parameters:
    ///   - delay: the time until it first fires; at once if it is zero or less. A delay of more than 292 years never fires.
    ///   - interval: between fire points, at least 1 ns (less is taken as 1 ns); nil fires once.
    ///   - leeway: how much later the system may fire it.
    ///   - queue: where the handler runs; by default a new serial queue.
    ///   - handler: captures its owner weakly if the owner holds the timer.
    public init(
        after delay: Duration,
        interval: Duration? = nil,
        leeway: Duration = .zero,
        queue: DispatchQueue? = nil,
        handler: @escaping @Sendable () -> Void
    ) {
        let source = DispatchSource.makeTimerSource(queue: queue ?? DispatchQueue(label: "lagmonitor.timer"))
        let control = Control()
        self.control = control
        if interval == nil {
            source.setEventHandler {
                // Before the call: from then on it cannot fire any more.
                control.cancel()
                handler()
            }
        } else {
            source.setEventHandler(handler: handler)
        }
        source.schedule(
            deadline: .now() + delay.dispatchInterval,
            repeating: interval.map { max($0, .nanoseconds(1)).dispatchInterval } ?? .never,
            leeway: leeway.dispatchInterval
        )
        control.start(source)
    }

    deinit { cancel() }

    /// Whether it can still fire. False when a one-shot timer's handler is called, and after ``cancel()``.
    public var isValid: Bool { control.isValid }

    /// Ends it and releases its handler, after a call in progress. Cancelling twice is allowed.
    public func cancel() { control.cancel() }
}

// Its tick begins on the queue, so a ticker that is cancelled on a serial queue does not tick there any more.
extension IndependentTimer: LoopTicker {}

extension Duration {
    /// Not below zero; never, for a duration that does not fit in 64 bits of nanoseconds.
    fileprivate var dispatchInterval: DispatchTimeInterval {
        let nanoseconds = wholeNanoseconds
        return nanoseconds == .max ? .never : .nanoseconds(Int(max(0, nanoseconds)))
    }
}
