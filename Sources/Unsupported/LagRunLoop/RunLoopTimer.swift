public import LagActivity
internal import LagModel

/// A timer for a loop. No loop accepts it here, so it never fires.
public final class RunLoopTimer: Sendable {
    public typealias Handler = @Sendable (RunLoopTimer) -> Void

    private let dates: PthreadMutex<(fire: MonotonicTime, tolerance: Duration)>
    public let interval: Duration?

    public init(
        fireDate: MonotonicTime,
        interval: Duration? = nil,
        tolerance: Duration = .zero,
        handler: @escaping Handler
    ) {
        dates = PthreadMutex((fireDate, tolerance))
        self.interval = interval
    }

    public convenience init(
        after delay: Duration,
        interval: Duration? = nil,
        tolerance: Duration = .zero,
        handler: @escaping Handler
    ) {
        self.init(fireDate: .now + delay, interval: interval, tolerance: tolerance, handler: handler)
    }

    public convenience init<Owner: AnyObject & Sendable>(
        owner: Owner,
        fireDate: MonotonicTime,
        interval: Duration? = nil,
        tolerance: Duration = .zero,
        handler: @escaping @Sendable (Owner, RunLoopTimer) -> Void
    ) {
        self.init(fireDate: fireDate, interval: interval, tolerance: tolerance) { _ in }
    }

    public var fireDate: MonotonicTime {
        get { dates.withLock { $0.fire } }
        set { dates.withLock { $0.fire = newValue } }
    }

    public var tolerance: Duration {
        get { dates.withLock { $0.tolerance } }
        set { dates.withLock { $0.tolerance = newValue } }
    }

    public var isValid: Bool { false }
    @discardableResult public func invalidate() -> Bool { false }
}
