internal import Synchronization

/// A manual source ("source 0"): a thread signals it, and the loop performs it once on its next turn.
///
/// ``signal()`` alone wakes no loop: a sleeping loop performs the source when something else wakes it. So follow it with
/// ``ObservedRunLoop/wakeUp()``, or use ``signalAndWake()``. Several signals before the turn count as one. Everything here is
/// safe from any thread; a source is in one loop at a time.
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
    ///   - order: lower is performed earlier; equal ones in the order in which they were added, and in turn in runs for one
    ///     source.
    ///   - schedule: called for every mode to which the source is added, on the thread that adds it.
    ///   - cancel: called for every mode from which it is removed, on the thread that removes it.
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

    /// Signals the source: the loop performs it on its next turn. Wakes no loop.
    public func signal() {
        signalled.store(true, ordering: .releasing)
        attachment.loop?.signals.add(.sources)
    }

    /// ``signal()``, then wakes its loop.
    public func signalAndWake() {
        signalled.store(true, ordering: .releasing)
        guard let loop = attachment.loop else { return }
        loop.signals.add(.sources)
        loop.signals.wakeUp()
    }

    /// Permanently removes it from its loop, with a cancel call for each mode that it was in.
    public func invalidate() {
        let (isFirst, loop) = attachment.invalidate()
        guard isFirst, let loop else { return }
        for mode in loop.removeEverywhere(self, in: \.sources) { cancel?(loop, mode) }
    }

    /// Clears the signal; returns whether it was set.
    func takeSignal() -> Bool {
        signalled.load(ordering: .relaxed) && signalled.exchange(false, ordering: .acquiringAndReleasing)
    }
}
