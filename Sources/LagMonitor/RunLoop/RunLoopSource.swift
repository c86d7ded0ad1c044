internal import Synchronization

/// A manual source ("source 0"): somebody marks it, and the loop performs it once on its next turn.
///
/// ``signal()`` alone wakes no loop: a sleeping loop performs the source when something else wakes it, so follow it with
/// ``ObservedRunLoop/wakeUp()`` or use ``signalAndWake()``. Several signals before the turn are one.
/// Everything here is safe from any thread; a source is in one loop at a time.
public final class RunLoopSource: Sendable, RunLoopItem {
    /// Called when the source joins or leaves a mode.
    public typealias ModeHandler = @Sendable (ObservedRunLoop, RunLoopMode) -> Void

    /// Its place among the sources of a mode: lower is performed earlier.
    public let order: Int

    let schedule: ModeHandler?
    let cancel: ModeHandler?
    let perform: @Sendable () -> Void
    let attachment = Attachment()
    private let signalled = Atomic<Bool>(false)

    /// - Parameters:
    ///   - order: lower is performed earlier; equal ones in the order they were added, and by turns in runs for one source.
    ///   - schedule: called for every mode the source gets into, on the thread that caused it.
    ///   - cancel: called for every mode it leaves, on the thread that caused it.
    ///   - perform: the work, on the loop's thread.
    public init(
        order: Int = 0,
        schedule: ModeHandler? = nil,
        cancel: ModeHandler? = nil,
        perform: @escaping @Sendable () -> Void
    ) {
        self.order = order
        self.schedule = schedule
        self.cancel = cancel
        self.perform = perform
    }

    /// Whether it can still be performed.
    public var isValid: Bool { attachment.isValid }

    /// Whether it waits to be performed.
    public var isSignalled: Bool { signalled.load(ordering: .acquiring) }

    /// Marks the source: the loop performs it on its next turn. Wakes no loop.
    public func signal() {
        signalled.store(true, ordering: .releasing)
        attachment.loop?.signals.add(.sources)
    }

    /// ``signal()``, then wakes the loop it is in.
    public func signalAndWake() {
        signalled.store(true, ordering: .releasing)
        guard let loop = attachment.loop else { return }
        loop.signals.add(.sources)
        loop.signals.wakeUp()
    }

    /// Removes it from its loop for good, with a cancel call for each mode it was in.
    public func invalidate() {
        let (isFirst, loop) = attachment.invalidate()
        guard isFirst, let loop else { return }
        for mode in loop.removeEverywhere(self, in: \.sources) { cancel?(loop, mode) }
    }

    /// Takes the mark: true when it was set.
    func takeSignal() -> Bool {
        signalled.load(ordering: .relaxed) && signalled.exchange(false, ordering: .acquiringAndReleasing)
    }
}
