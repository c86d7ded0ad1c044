internal import CLagBeacon
internal import LagActivity
internal import LagModel

// Timers: adding them to modes, and firing them. Any thread unless noted otherwise. What is removed is not called any more.
extension ObservedRunLoop {
    /// Adds a timer to a mode, or to all common modes with ``RunLoopMode/common``. O(log n) for n timers.
    /// - Returns: false when it is invalid or in another loop, or when this loop has ended; nothing happens then.
    @discardableResult
    public func add(_ timer: RunLoopTimer, to mode: RunLoopMode) -> Bool { add(timer, to: CollectionOfOne(mode)) }

    /// Removes a timer from a mode, or from all common modes if it was added to ``RunLoopMode/common``. It stays valid and can be
    /// added again. O(log n).
    public func remove(_ timer: RunLoopTimer, from mode: RunLoopMode) {
        changeTimers { registry in
            guard timer.attachment.isOwned(by: self) else { return false }
            let wakes = registry.timers.remove(timer, from: mode, common: registry.commonModes)
            if !registry.timers.contains(timer) { timer.attachment.detach(from: self) }
            return wakes
        }
    }

    /// Adds a timer to several modes, all in one step.
    func add(_ timer: RunLoopTimer, to modes: some Collection<RunLoopMode>) -> Bool {
        var isAccepted = false
        changeTimers { registry in
            guard !registry.isFinished, timer.attachment.attach(to: self) else { return false }
            isAccepted = true
            return modes.reduce(false) { wakes, mode in
                registry.timers.add(timer, to: mode, common: registry.commonModes) || wakes
            }
        }
        return isAccepted
    }

    func addToEveryMode(_ timer: RunLoopTimer) -> Bool {
        var isAccepted = false
        changeTimers { registry in
            guard !registry.isFinished, timer.attachment.attach(to: self) else { return false }
            isAccepted = true
            return registry.timers.addToEveryMode(timer)
        }
        return isAccepted
    }

    func removeEverywhere(_ timer: RunLoopTimer) {
        changeTimers { registry in
            guard timer.attachment.isOwned(by: self) else { return false }
            defer { timer.attachment.detach(from: self) }
            return registry.timers.remove(timer)
        }
    }

    /// A timer's date or tolerance has changed, or its handler has returned.
    func update(_ timer: RunLoopTimer) {
        changeTimers { registry in
            // It may be in another loop by now, which saw the change when it took the timer.
            guard timer.attachment.isOwned(by: self) else { return false }
            return registry.timers.update(timer)
        }
    }

    /// Makes the loop plan its timers again, and wakes it if `change` returns true.
    private func changeTimers(_ change: (inout ModeRegistry) -> Bool) {
        let wakes = registry.withLock { registry in change(&registry) }
        signals.add(.timers)
        if wakes, !isCurrent { signals.wakeUp() }
    }

    // The loop's thread only, from here on.

    /// Step 9. Fires the timers that are due, earliest first; those of one date in the order in which they were set. Timers set
    /// meanwhile wait for the next turn.
    func fireTimers() {
        refreshItems()
        guard own.timers.nextFire <= own.clock, let mode = own.mode else { return }
        let clock = own.clock
        while mayCallOut, let (timer, date) = registry.withLock({ $0.timers.beginFiring(in: mode, at: clock) }) {
            beacon.begin(own.activity, at: own.clock)
            timer.fire(for: date) {
                own.clock = clb_now_ns()
                return own.clock
            }
        }
        planTimers()
    }

    func planTimers() {
        guard let mode = own.mode else { return }
        _ = signals.take(.timers)
        own.timers = registry.withLock { $0.timers.plan(for: mode) }
    }
}
