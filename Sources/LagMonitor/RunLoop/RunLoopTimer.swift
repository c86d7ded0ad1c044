public import LagActivity
internal import LagModel
internal import Synchronization

/// A timer of a run loop, one-shot or repeating.
///
/// It fires on the loop's thread, and only while the loop runs in a mode to which the timer was added. Fire points that the loop
/// missed because it was busy are skipped, never made up; later ones stay on the original grid.
///
/// The loop keeps its timers, and a timer keeps what its handler captures. To avoid keeping the owner alive: call
/// ``invalidate()`` (releases the handler), capture the owner weakly, or use
/// ``init(owner:fireDate:interval:tolerance:handler:)``. Everything here is safe from any thread; a timer is in one loop at a time.
public final class RunLoopTimer: Sendable {
    /// Called on the loop's thread.
    public typealias Handler = @Sendable (RunLoopTimer) -> Void

    /// The handler is in a structure because the lock would wrap a bare closure again at each use (Swift 6.3; in an optimised
    /// build the stack becomes 48 bytes deeper with every fire).
    private struct Content: Sendable {
        var handler: Handler?
    }

    /// The purpose of a timer.
    enum Purpose: Sendable {
        /// An ordinary item of the loop.
        case timer
        /// The ticks of a watchdog: a mode with nothing else has nothing to wait for.
        case ticker
        /// Delayed work, and the key by which it can be cancelled.
        case work(key: PerformKey?)
    }

    /// The time between fire points; nil for a one-shot timer.
    public let interval: Duration?

    let attachment = Attachment()
    /// Set while its handler runs, with the registry of its loop locked. Cleared by the loop's thread.
    let isFiring = Atomic<Bool>(false)
    let purpose: Purpose
    /// Its heap. Guarded by the lock of the registry of its loop.
    nonisolated(unsafe) var heap: TimerHeap?
    /// Its place in that heap. Guarded by the same lock. It is atomic because the runtime then does not check it for exclusive
    /// access in the loop that moves timers.
    let heapPlace = Atomic<Int>(noPlace)
    static let noPlace = -1
    private let intervalNanoseconds: UInt64
    private let fireNanoseconds: Atomic<UInt64>
    private let toleranceNanoseconds: Atomic<UInt64>
    private let content: PthreadMutex<Content>

    /// - Parameters:
    ///   - fireDate: when it first fires. In the past: on the next turn.
    ///   - interval: between fire points, at least 1 ns (less is taken as 1 ns); nil: fires once and is invalid afterwards.
    ///   - tolerance: how much later it may fire, so that the loop can serve several timers with one wake. It never fires early.
    ///   - handler: receives the timer, on the loop's thread. It is not called from within itself.
    public init(
        fireDate: MonotonicTime,
        interval: Duration? = nil,
        tolerance: Duration = .zero,
        handler: @escaping Handler
    ) {
        purpose = .timer
        self.interval = interval
        intervalNanoseconds = interval.map { UInt64(max(1, $0.wholeNanoseconds)) } ?? 0
        fireNanoseconds = Atomic(fireDate.nanoseconds)
        toleranceNanoseconds = Atomic(UInt64(max(0, tolerance.wholeNanoseconds)))
        content = PthreadMutex(Content(handler: handler))
    }

    /// A ticker's timer: fires every `interval` from now on, and does not keep a run going.
    init(tickingEvery interval: Duration, handler: @escaping Handler) {
        purpose = .ticker
        self.interval = interval
        intervalNanoseconds = UInt64(max(1, interval.wholeNanoseconds))
        fireNanoseconds = Atomic((MonotonicTime.now + interval).nanoseconds)
        toleranceNanoseconds = Atomic(0)
        content = PthreadMutex(Content(handler: handler))
    }

    /// The timer of delayed work: fires once, `delay` from now.
    init(performingAfter delay: Duration, key: PerformKey?, work: @escaping @Sendable () -> Void) {
        purpose = .work(key: key)
        interval = nil
        intervalNanoseconds = 0
        fireNanoseconds = Atomic((MonotonicTime.now + max(delay, .zero)).nanoseconds)
        toleranceNanoseconds = Atomic(0)
        content = PthreadMutex(Content { _ in work() })
    }

    /// A timer that first fires `delay` from now (at once if that is below zero); the rest as in
    /// ``init(fireDate:interval:tolerance:handler:)``.
    public convenience init(
        after delay: Duration,
        interval: Duration? = nil,
        tolerance: Duration = .zero,
        handler: @escaping Handler
    ) {
        self.init(fireDate: .now + max(delay, .zero), interval: interval, tolerance: tolerance, handler: handler)
    }

    /// A timer that does not keep `owner` alive: it passes the owner to its handler, and invalidates itself when the owner is
    /// gone.
    public convenience init<Owner: AnyObject & Sendable>(
        owner: Owner,
        fireDate: MonotonicTime,
        interval: Duration? = nil,
        tolerance: Duration = .zero,
        handler: @escaping @Sendable (Owner, RunLoopTimer) -> Void
    ) {
        self.init(fireDate: fireDate, interval: interval, tolerance: tolerance) { [weak owner] timer in
            if let owner { handler(owner, timer) } else { timer.invalidate() }
        }
    }

    /// When it fires next; `MonotonicTime.distantFuture` if it is invalid or beyond the clock. Setting it moves the grid too.
    public var fireDate: MonotonicTime {
        get { MonotonicTime(nanoseconds: isValid ? fireNanoseconds.load(ordering: .acquiring) : .max) }
        set {
            fireNanoseconds.store(newValue.nanoseconds, ordering: .releasing)
            attachment.loop?.update(self)
        }
    }

    /// How much later than its fire date it may fire.
    public var tolerance: Duration {
        get { .nanoseconds(Int64(clamping: toleranceNanoseconds.load(ordering: .acquiring))) }
        set {
            toleranceNanoseconds.store(UInt64(max(0, newValue.wholeNanoseconds)), ordering: .releasing)
            attachment.loop?.update(self)
        }
    }

    /// Whether it can still fire.
    public var isValid: Bool { attachment.isValid }

    /// Permanently removes it from its loop and releases its handler and what that captured. O(log n) for n timers of the loop.
    /// - Returns: whether it was valid until now.
    @discardableResult
    public func invalidate() -> Bool {
        let (isFirst, loop) = attachment.invalidate()
        guard isFirst else { return false }
        loop?.removeEverywhere(self)
        releaseHandler()
        return true
    }

    /// Objects that the handler captured may be deinitialised here and may call anything: call it with no lock held. Only for an
    /// invalid timer.
    func releaseHandler() {
        let released = content.withLock { content in
            defer { content.handler = nil }
            return content.handler
        }
        _ = released
    }

    // The loop's thread only, or with the registry of its loop locked, from here on.

    var nextFire: UInt64 { fireNanoseconds.load(ordering: .acquiring) }

    /// Until when the loop may sleep, given this timer.
    var latestFire: UInt64 {
        // A tolerance above half the interval would cost fire points, so at most half is used (as in CFRunLoopTimerSetTolerance).
        let most = interval == nil ? UInt64.max : intervalNanoseconds / 2
        let tolerance = min(toleranceNanoseconds.load(ordering: .acquiring), most)
        return nextFire.saturatingSum(tolerance)
    }

    var belongsToTicker: Bool { if case .ticker = purpose { true } else { false } }

    /// Calls the handler, then moves to the next point of the grid (after `now()`), or ends a one-shot timer.
    /// - Parameter served: the date for which it fires.
    func fire(for served: UInt64, now: () -> UInt64) {
        guard let handler = content.withLock({ $0.handler }) else { return }
        handler(self)
        // Also after a one-shot timer: what the loop does next begins now.
        let fired = now()
        guard interval != nil else {
            // While it still counts as firing: it must not look like one that can be cancelled.
            invalidate()
            return
        }
        let next = TimerGrid.next(afterServing: served, interval: intervalNanoseconds, now: fired)
        // If a handler (or another thread) has set a new date meanwhile, that date is kept.
        _ = fireNanoseconds.compareExchange(expected: served, desired: next, ordering: .acquiringAndReleasing)
        // After the date: a loop to which it is added now finds the next one.
        isFiring.store(false, ordering: .releasing)
        // Back into the heap; a handler may have moved the timer to another loop, which skipped it while it was firing.
        attachment.loop?.update(self)
    }
}
