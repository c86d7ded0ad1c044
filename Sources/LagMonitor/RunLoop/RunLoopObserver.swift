public import LagActivity
internal import Synchronization

/// Hears of the activities of a run loop: before timers, before sources, before the sleep, after it, on the way in and out.
///
/// The handler runs on the loop's thread. It may add and remove observers, itself included: one that was removed is not
/// called any more, one that was added is called from the next activity on. It is not called again from within itself.
/// Everything here is safe from any thread.
public final class RunLoopObserver: Sendable, RunLoopItem {
    /// Called on the loop's thread.
    public typealias Handler = @Sendable (RunLoopObserver, LoopActivity) -> Void

    /// What it wants to hear of.
    public let activities: RunLoopActivities
    /// Whether it stays after the first call.
    public let repeats: Bool
    /// Its place among the observers of a mode: lower is called earlier.
    public let order: Int

    let handler: Handler
    let attachment = Attachment()
    /// Set while the handler runs. Written by the loop's thread alone.
    let isCalling = Atomic<Bool>(false)

    /// - Parameters:
    ///   - activities: what to hear of.
    ///   - repeats: with `false` the observer is invalidated right before its first call.
    ///   - order: lower is called earlier; equal ones in the order they were added.
    ///   - handler: gets the observer and the activity, on the loop's thread.
    public init(
        activities: RunLoopActivities = .all,
        repeats: Bool = true,
        order: Int = 0,
        handler: @escaping Handler
    ) {
        self.activities = activities
        self.repeats = repeats
        self.order = order
        self.handler = handler
    }

    /// Whether it can still be called.
    public var isValid: Bool { attachment.isValid }

    /// Removes it from its loop for good.
    public func invalidate() {
        let (isFirst, loop) = attachment.invalidate()
        if isFirst { loop?.removeEverywhere(self, in: \.observers) }
    }
}
