internal import LagDetection

/// A watchdog without a thread: every scan is a call, at a time that the caller sets. For the test kit.
///
/// One thread at a time.
struct ManualWatchdog: ~Copyable {
    private let watchdog: Watchdog
    private var plan = Watchdog.Plan.idle

    init(_ watchdog: Watchdog) { self.watchdog = watchdog }

    /// When the thread would scan again; `.max`: when a loop wakes.
    var deadline: UInt64 { plan.deadline }
    /// Whether the thread would scan because a loop posted.
    var wantsPosts: Bool { plan.wantsPosts }

    /// One scan of every loop.
    mutating func scan(at now: UInt64) { plan = watchdog.scan(at: now) }
}
