public import LagActivity
internal import Synchronization

/// Receives the activities of a run loop: before timers, before sources, before the sleep, after it, on entry and exit.
///
/// The handler runs on the loop's thread. It may add and remove observers, including itself: a removed observer is not called any
/// more, and an added one is called from the next activity on. The handler is not called from within itself. Everything here is
/// safe from any thread.
public final class RunLoopObserver: Sendable, RunLoopItem {
    /// Called on the loop's thread.
    public typealias Handler = @Sendable (RunLoopObserver, LoopActivity) -> Void

    /// The activities that it receives.
    public let activities: RunLoopActivities
    /// Whether it stays after the first call.
    public let repeats: Bool
    /// Its place among the observers of a mode: lower is called earlier.
    public let order: Int

    let handler: Handler
    let attachment = Attachment()
    /// Set while the handler runs. Written only by the loop's thread.
    let isCalling = Atomic<Bool>(false)

    /// - Parameters:
    ///   - activities: the activities to receive.
    ///   - repeats: if `false`, the observer is invalidated right before its first call.
    ///   - order: lower is called earlier; equal ones in the order in which they were added.
    ///   - handler: receives the observer and the activity, on the loop's thread.
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

    /// Permanently removes it from its loop.
    public func invalidate() {
        let (isFirst, loop) = attachment.invalidate()
        if isFirst { loop?.removeEverywhere(self, in: \.observers) }
    }
}
