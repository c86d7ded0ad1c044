internal import CLagBeacon
internal import LagActivity
internal import Synchronization

// What the steps of a turn do. Own thread only; no lock and no allocation while nothing changes.
extension ObservedRunLoop {
    /// Publishes an activity to the beacon and to the observers, in this order.
    func publish(_ activity: LoopActivity) {
        refreshItems()
        own.activity = activity
        beacon.begin(activity, at: own.clock)
        callObservers(activity)
    }

    /// The same for an activity that ends a rest: it un-parks the watchdog.
    /// - Parameter hasRested: false when the time in which the loop did not run was too short for a rest.
    func publishWake(_ activity: LoopActivity, hasRested: Bool = true) {
        own.activity = activity
        if hasRested { beacon.wake(activity, at: own.clock) } else { beacon.resume(activity, at: own.clock) }
        refreshItems()
        callObservers(activity)
    }

    /// One callback: a stretch of work of its own for the watchdog. One clock reading, which the next callout uses too.
    @inline(__always)
    func callOut(_ body: () -> Void) {
        beacon.begin(own.activity, at: own.clock)
        body()
        own.clock = clb_now_ns()
    }

    /// False when the thread is to end: nothing but observers is called any more.
    private var mayCallOut: Bool { !isEnding.load(ordering: .relaxed) }

    private func callObservers(_ activity: LoopActivity) {
        let wanted = RunLoopActivities(activity)
        guard !own.observed.isDisjoint(with: wanted) else { return }
        let version = own.version
        for observer in own.items.observers where !observer.activities.isDisjoint(with: wanted) {
            refreshItems()
            guard own.version == version || own.items.observers.contains(item: observer) else { continue }
            guard observer.isValid, !observer.isCalling.load(ordering: .relaxed) else { continue }
            if !observer.repeats { observer.invalidate() }
            observer.isCalling.store(true, ordering: .relaxed)
            callOut { observer.handler(observer, activity) }
            observer.isCalling.store(false, ordering: .relaxed)
        }
    }

    /// Step 4. Whether any source was performed.
    func performSources(onlyOne: Bool) -> Bool {
        guard signals.take(.sources) else { return false }
        refreshItems()
        let version = own.version
        var handled = false
        for source in own.items.sources {
            refreshItems()
            guard own.version == version || own.items.sources.contains(item: source) else { continue }
            guard mayCallOut, source.isValid, source.takeSignal() else { continue }
            callOut { source.perform() }
            handled = true
            // The rest stays marked; the next run checks everything when it begins.
            if onlyOne { break }
        }
        return handled
    }

    /// Step 5. Whether a port of the mode has a message.
    func arePortsReady() -> Bool {
        guard signals.take(.ports) else { return false }
        refreshItems()
        return own.items.ports.contains { $0.pendingMessages > 0 }
    }

    /// Step 9. Fires the timers that are due, earliest first.
    func fireTimers() {
        refreshItems()
        guard own.nextFire <= own.clock else { return }
        let clock = own.clock
        let version = own.version
        let due = own.items.timers.filter { $0.isDue(at: clock) }.sorted { $0.nextFire < $1.nextFire }
        for timer in due {
            refreshItems()
            guard own.version == version || own.items.timers.contains(item: timer) else { continue }
            guard mayCallOut, timer.isDue(at: clock) else { continue }
            beacon.begin(own.activity, at: own.clock)
            timer.fire {
                own.clock = clb_now_ns()
                return own.clock
            }
        }
        planTimers()
    }

    /// Step 9. Handles messages; those that arrive meanwhile wait for the next turn. Whether there was one.
    func handlePorts(known: Bool, onlyOne: Bool) -> Bool {
        guard signals.take(.ports) || known else { return false }
        refreshItems()
        let version = own.version
        var handled = false
        for port in own.items.ports {
            var left = port.pendingMessages
            while left > 0 {
                refreshItems()
                guard own.version == version || own.items.ports.contains(item: port), port.isValid else { break }
                guard mayCallOut, let message = port.takeMessage() else { break }
                callOut { port.handle(message) }
                handled = true
                left -= 1
                if onlyOne { return true }
            }
        }
        return handled
    }

    /// Step 9. Calls the sources whose descriptors were found ready. Whether there was one.
    func handleDescriptors(onlyOne: Bool) -> Bool {
        guard own.poller.hasReadySources else { return false }
        let ready = own.poller.takeReadySources()
        var handled = false
        for source in ready {
            refreshItems()
            let events = source.takeReady()
            // The rule is level-triggered: what is passed over now is found again by the next poll.
            guard !events.isEmpty, !(onlyOne && handled) else { continue }
            guard mayCallOut, source.isValid, own.items.descriptors.contains(item: source) else { continue }
            callOut { source.handler(source, events) }
            handled = true
        }
        return handled
    }

    /// Whether the main dispatch queue waits to be drained by this run.
    var isMainQueueDue: Bool { own.poller.isMainQueueReady && servesMainQueue }

    /// Step 9. Drains the main dispatch queue. Whether it was drained.
    func drainMainQueue() -> Bool {
        guard isMainQueueDue else { return false }
        own.poller.isMainQueueReady = false
        own.mainQueue?.begin()
        callOut { MainQueueDrain.drain() }
        own.mainQueue?.end()
        return true
    }

    /// Makes the main thread's loop serve the main dispatch queue, from its first run on.
    func watchMainQueue() {
        guard isMain, own.mainQueue == nil else { return }
        let drain = MainQueueDrain()
        // Without a descriptor for it now (there may be too many open ones), the next run tries again.
        if own.poller.watchMainQueue(drain.descriptor) { own.mainQueue = drain }
    }

    /// The main queue is served in the common modes, and not from within one of its own blocks.
    private var servesMainQueue: Bool { own.isCommonMode && own.mainQueue?.canDrain == true }

    /// Whether nothing could ever wake a run in the present mode.
    var isModeEmpty: Bool { own.items.hasNothingToWaitFor && !servesMainQueue && !hasPerforms }

    /// Takes a fresh copy of the mode's items when something has changed.
    func refreshItems() {
        if signals.take(.items) { reloadItems() }
    }

    func reloadItems() {
        guard let mode = own.mode else { return }
        _ = signals.take(.items)
        let (items, isCommonMode) = registry.withLock { registry in
            (registry.items(of: mode), registry.commonModes.contains(mode))
        }
        own.items = items
        own.isCommonMode = isCommonMode
        own.observed = items.observedActivities
        own.version &+= 1
        own.poller.update(items.descriptors)
        planTimers()
    }

    /// When the loop must check its timers again.
    private func planTimers() {
        var nextFire = UInt64.max
        var latestFire = UInt64.max
        for timer in own.items.timers where timer.isValid && !timer.isFiring.load(ordering: .relaxed) {
            nextFire = min(nextFire, timer.nextFire)
            latestFire = min(latestFire, timer.latestFire)
        }
        own.nextFire = nextFire
        own.latestFire = latestFire
    }
}
