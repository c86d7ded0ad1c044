public import Dispatch
public import LagActivity
internal import LagModel

/// A timer that is no item of any run loop: it fires on a dispatch queue, whatever mode a loop is in and however long it stalls.
///
/// It runs from its creation until ``cancel()`` or its release. Fire points missed because the queue was busy are merged into one.
/// It follows the monotonic clock. Everything here is safe from any thread.
public final class IndependentTimer: Sendable {
    /// What is shared with the handler, which must not hold the timer itself. The source holds the handler, and the handler this: the circle is opened when the
    /// timer fires for the last time or is cancelled, which its release is, too.
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
            // Outside the lock: what the handler captured may end here.
            ended?.timer.setEventHandler(handler: nil)
            ended?.timer.cancel()
        }
    }

    private let control: Control

    /// - Parameters:
    ///   - delay: until it fires first; at once when it is zero or less. More than 292 years never come.
    ///   - interval: between fire points, at least 1 ns (less is taken as 1 ns); nil fires once.
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

    /// Whether it can still fire: false from the call of a one-shot timer's handler on, and after ``cancel()``.
    public var isValid: Bool { control.isValid }

    /// Ends it and releases its handler, after a call in progress. Cancelling twice is fine.
    public func cancel() { control.cancel() }
}

// Its tick begins on the queue, so one cancelled on a serial queue does not begin there any more.
extension IndependentTimer: LoopTicker {}

extension Duration {
    /// None below zero; never for what does not fit in 64 bits of nanoseconds.
    fileprivate var dispatchInterval: DispatchTimeInterval {
        let nanoseconds = wholeNanoseconds
        return nanoseconds == .max ? .never : .nanoseconds(Int(max(0, nanoseconds)))
    }
}
