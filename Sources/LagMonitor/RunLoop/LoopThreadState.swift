internal import LagActivity

/// State that only the loop's own thread uses, without any lock.
final class LoopThreadState {
    /// The mode of the innermost run; nil while the loop does not run.
    var mode: RunLoopMode?
    /// The mode's items as they were at the last refresh; see `ObservedRunLoop.refreshItems()`.
    var items = ModeItems()
    /// Which activities any observer of the mode wants.
    var observed: RunLoopActivities = []
    /// Whether the mode is one of the common ones.
    var isCommonMode = false
    /// Counts the refreshes, so that an iteration notices a change.
    var version: UInt64 = 0
    /// The loop's clock: nanoseconds, read after every sleep, poll and callout.
    var clock: UInt64 = 0
    /// When the last outermost run ended, by that clock.
    var exited: UInt64 = 0
    /// The activity that was last published to the beacon.
    var activity: LoopActivity = .notRunning
    /// The mode's timers as they were at the last refresh.
    var timers = TimerTable.Plan()
    /// Submitted work that the loop has fetched and not begun.
    var work = WorkQueue()
    /// Whether work that this thread has taken waits behind the callout in progress, as published.
    var hasWaiting = false
    /// The number of the last service in a run for one source at a time; see `Attachment.lastTurn`.
    var turn: UInt64 = 0
    /// A used-up list of ports, kept for its memory.
    var sparePorts: [RunLoopPort] = []
    var mainQueue: MainQueueDrain?
    /// Whether the last turn handled something that only the kernel knows of, a ready descriptor or the main queue: then there
    /// may be more.
    var hadEvents = false
    var spin = SpinPolicy()
    let poller: Poller

    init(signals: LoopSignals) { poller = Poller(signals: signals) }

    /// No run is in progress: releases the mode's items.
    func reset() {
        mode = nil
        activity = .notRunning
        items = ModeItems()
        observed = []
        isCommonMode = false
        timers = TimerTable.Plan()
    }
}
