internal import LagActivity
internal import LagModel

/// Names delayed work, so that it can be cancelled: by object, by name, or both.
public struct PerformKey: Sendable, Hashable, ExpressibleByStringLiteral {
    let target: ObjectIdentifier?
    let name: String?

    /// Work of this name.
    public init(_ name: String) { (target, self.name) = (nil, name) }

    /// Work of this object. The object is not kept alive: cancel before it ends, otherwise the key may match a new object at that
    /// address.
    public init(_ target: AnyObject, _ name: String? = nil) { (self.target, self.name) = (ObjectIdentifier(target), name) }

    public init(stringLiteral name: String) { self.init(name) }
}

// Work submitted to a loop, in all forms. Any thread unless noted otherwise. Work of the same mode runs in the order of
// submission, each piece as a separate callout, and counts as a handled source.
extension ObservedRunLoop {
    /// Runs `work` immediately on the calling thread, which must be the loop's.
    public func performNow<Value>(_ work: () throws -> Value) rethrows -> Value {
        guard isCurrent else { fatalError("performNow is for the loop's own thread only, use performAndWait: \(self)") }
        return try work()
    }

    /// Submits `work` to the loop's thread and returns at once; wakes a sleeping loop.
    /// - Parameters:
    ///   - modes: it runs while the loop runs in one of these; until then it waits.
    ///   - work: may be released on the loop's thread without having run, if the thread ends first.
    /// - Returns: false if the loop has ended with its thread, or if `modes` is empty; then the work will not run.
    @discardableResult
    public func perform(modes: [RunLoopMode] = ObservedRunLoop.commonModesOnly, _ work: @escaping @Sendable () -> Void) -> Bool {
        submit(SubmittedWork.Item(modes: modes, work: work, abandon: nil))
    }

    /// Runs `work` on the loop's thread and waits until it is done. On the loop's own thread it runs at once, in any mode.
    /// - Returns: what `work` returned.
    /// - Throws: what `work` threw; ``RunLoopError/invalidArgument(_:)`` when `modes` is empty (it would never run);
    ///   ``RunLoopError/loopFinished(name:)`` when the loop's thread ended before the work ran.
    ///   If the loop is alive but does not run in one of the modes, the call waits.
    @discardableResult
    public func performAndWait<Value: Sendable>(
        modes: [RunLoopMode] = ObservedRunLoop.commonModesOnly,
        _ work: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        guard !modes.isEmpty else { throw RunLoopError.invalidArgument("modes is empty; work needs at least one mode to run in") }
        if isCurrent { return try work() }
        let answer = PerformAnswer<Value>()
        let item = SubmittedWork.Item(
            modes: modes,
            work: { answer.resolve(Result { try work() }) },
            abandon: { [name] in answer.resolve(.failure(RunLoopError.loopFinished(name: name))) }
        )
        guard submit(item) else { throw RunLoopError.loopFinished(name: name) }
        return try answer.wait()
    }

    /// Runs `work` on the loop's thread `delay` from now: a one-shot timer of the loop, in the given modes.
    /// - Parameters:
    ///   - delay: zero or less runs it on the next turn, in the order of submission.
    ///   - modes: as for a timer; by default the default mode.
    ///   - key: a name for ``cancelPerforms(key:)``.
    /// - Returns: false if the loop has ended with its thread, or if `modes` is empty.
    @discardableResult
    public func perform(
        after delay: Duration,
        modes: [RunLoopMode] = ObservedRunLoop.defaultModeOnly,
        key: PerformKey? = nil,
        _ work: @escaping @Sendable () -> Void
    ) -> Bool {
        guard !modes.isEmpty else { return false }
        return add(RunLoopTimer(performingAfter: delay, key: key, work: work), to: modes)
    }

    /// Cancels the delayed work that was submitted under exactly this key and has not begun. Visits each timer of the loop.
    /// - Returns: the number of cancelled pieces.
    @discardableResult
    public func cancelPerforms(key: PerformKey) -> Int { cancelDelayed { $0 == key } }

    /// Cancels all delayed work of an object, under any name.
    @discardableResult
    public func cancelPerforms(of target: AnyObject) -> Int {
        let target = ObjectIdentifier(target)
        return cancelDelayed { $0?.target == target }
    }

    /// Cancels all delayed work of this loop.
    @discardableResult
    public func cancelPerforms() -> Int { cancelDelayed { _ in true } }

    /// Runs `work` on a new thread, which ends with it.
    /// - Throws: ``RunLoopError/threadNotCreated(name:errno:)``.
    public static func performInBackground(name: String = "background", _ work: @escaping @Sendable () -> Void) throws {
        try SystemThread.start(name: name, stackBytes: SystemThread.defaultStackBytes, work).detach()
    }

    /// `[.common]`, created once.
    public static let commonModesOnly: [RunLoopMode] = [.common]
    /// `[.default]`, created once.
    public static let defaultModeOnly: [RunLoopMode] = [.default]

    private func submit(_ item: SubmittedWork.Item) -> Bool {
        let accepted = performs.withLock { submitted in
            guard !submitted.isFinished, !item.modes.isEmpty else { return false }
            submitted.items.append(item)
            return true
        }
        guard accepted else { return false }
        signals.add(.blocks)
        signals.wakeUp()
        return true
    }

    private func cancelDelayed(where matches: (PerformKey?) -> Bool) -> Int {
        // In one step: cancelled work has not begun and does not begin, and if two threads cancel the same work, one of them
        // counts it.
        let cancelled = registry.withLock { registry in
            registry.timers.delayedWork(where: matches).filter { timer in
                guard timer.attachment.invalidate().isFirst else { return false }
                _ = registry.timers.remove(timer)
                timer.attachment.detach(from: self)
                return true
            }
        }
        if cancelled.isEmpty { return 0 }
        itemsChanged()
        for timer in cancelled { timer.releaseHandler() }
        return cancelled.count
    }

    // The loop's thread only, from here on.

    /// Runs what was submitted for the present mode; what is submitted meanwhile waits for the next turn. Returns whether there
    /// was any. Answers a ping first; that does not count as handled work.
    func runPerforms() -> Bool {
        // One check for both: a loop that is not pinged pays nothing for pings.
        let work = signals.takeEach([.anyBlocks, .pings])
        if work.isEmpty { return false }
        if work.contains(.pings) { beacon.pong() }
        guard !work.isDisjoint(with: .anyBlocks), own.mode != nil else { return false }
        refreshItems()
        performs.withLock { own.work.fetch(from: &$0) }
        let end = own.work.end
        var ran = false
        // When the loop ends, the rest stays in the queue: the end finds it there and notifies the waiting threads.
        while mayCallOut, let mode = workMode, let item = own.work.takeNext(for: mode, before: end) {
            setWaiting(own.work.hasNext(before: end))
            callOut(item.work)
            ran = true
        }
        setWaiting(false)
        return ran
    }

    /// Whether something was submitted for the present mode.
    var hasPerforms: Bool {
        guard let mode = workMode else { return false }
        performs.withLock { own.work.fetch(from: &$0) }
        return own.work.hasWork(for: mode)
    }

    private var workMode: WorkQueue.Mode? { own.mode.map { WorkQueue.Mode(mode: $0, isCommon: own.isCommonMode) } }
}

private final class PerformAnswer<Value: Sendable>: Sendable {
    private let result = PthreadMutex<Result<Value, any Error>?>(nil)
    private let gate = Gate()

    func resolve(_ answer: Result<Value, any Error>) {
        result.withLock { $0 = answer }
        gate.open()
    }

    func wait() throws -> Value {
        gate.wait()
        return try result.withLock { $0! }.get()
    }
}
