internal import CLagBeacon
internal import LagActivity
internal import LagModel
internal import Synchronization

// The steps of a turn. Own thread only; no lock and no allocation while nothing changes.
extension ObservedRunLoop {
    /// Publishes an activity to the beacon and to the observers, in this order.
    func publish(_ activity: LoopActivity) {
        refreshItems()
        own.activity = activity
        beacon.begin(activity, at: own.clock)
        callObservers(activity)
    }

    /// The same for an activity that ends idle time: it un-parks the watchdog.
    /// - Parameter hasRested: false if the time in which the loop did not run was too short to count as idle.
    func publishWake(_ activity: LoopActivity, hasRested: Bool = true) {
        own.activity = activity
        if hasRested { beacon.wake(activity, at: own.clock) } else { beacon.resume(activity, at: own.clock) }
        refreshItems()
        callObservers(activity)
    }

    /// One callback: a separate piece of work for the watchdog. One clock reading, which the next callout uses too.
    @inline(__always)
    func callOut(_ body: () -> Void) {
        beacon.begin(own.activity, at: own.clock)
        body()
        own.clock = clb_now_ns()
    }

    /// False when the thread is to end: only observers are called then.
    var mayCallOut: Bool { !isEnding.load(ordering: .relaxed) }

    private func callObservers(_ activity: LoopActivity) {
        let wanted = RunLoopActivities(activity)
        guard !own.observed.isDisjoint(with: wanted) else { return }
        let version = own.version
        for observer in own.items.observers where !observer.activities.isDisjoint(with: wanted) {
            refreshItems()
            guard own.version == version || isStillServed(observer) else { continue }
            guard observer.isValid, !observer.isCalling.load(ordering: .relaxed) else { continue }
            if !observer.repeats { observer.invalidate() }
            observer.isCalling.store(true, ordering: .relaxed)
            callOut { observer.handler(observer, activity) }
            observer.isCalling.store(false, ordering: .relaxed)
        }
    }

    /// Step 4. Returns whether any source was performed.
    /// - Parameter onlyOne: equals take turns. The rest stays signalled; the next run checks everything when it begins.
    func performSources(onlyOne: Bool) -> Bool {
        guard signals.take(.anySources) else { return false }
        refreshItems()
        if onlyOne {
            guard mayCallOut, let source = own.items.sources.next(where: { $0.isValid && $0.isSignalled }) else { return false }
            guard source.takeSignal() else {
                // Another loop has taken it meanwhile; other sources may be signalled.
                signals.add(.sources)
                return false
            }
            setWaiting(own.items.sources.contains { $0.isSignalled })
            callOutInTurn(source) { source.perform() }
            setWaiting(false)
            return true
        }
        let version = own.version
        var handled = false
        var sources = own.items.sources.makeIterator()
        while let source = sources.next() {
            guard source.isSignalled else { continue }
            // Searched before the callout, so that it is known whether one waits; and again afterwards, because the callout may
            // signal others.
            var others = sources
            var isOtherSignalled = false
            while !isOtherSignalled, let other = others.next() { isOtherSignalled = other.isSignalled }
            setWaiting(isOtherSignalled)
            refreshItems()
            guard own.version == version || isStillServed(source) else { continue }
            guard mayCallOut, source.isValid, source.takeSignal() else { continue }
            callOut { source.perform() }
            handled = true
        }
        setWaiting(false)
        return handled
    }

    /// Whether an item is still in the present mode after a change.
    private func isStillServed(_ item: some RunLoopItem) -> Bool {
        guard let mode = own.mode else { return false }
        return registry.withLock { _ in item.attachment.isOwned(by: self) && item.attachment.sequence(in: mode) != nil }
    }

    /// Publishes whether there is work behind the callout that begins: nothing else shows the work that this thread has taken.
    func setWaiting(_ isWaiting: Bool) {
        guard own.hasWaiting != isWaiting else { return }
        own.hasWaiting = isWaiting
        if isWaiting { signals.add(.waiting) } else { _ = signals.take(.waiting) }
    }

    /// Serves an item in a run for one source at a time: from now on all others of equal order come before it, even if it is
    /// removed and added again in its callback.
    private func callOutInTurn(_ item: some RunLoopItem, _ body: () -> Void) {
        own.turn += 1
        let turn = own.turn
        item.attachment.lastTurn.store(turn, ordering: .relaxed)
        callOut(body)
        if item.attachment.isOwned(by: self) { item.attachment.lastTurn.store(turn, ordering: .relaxed) }
    }

    /// Step 5. Whether a port of the mode has a message.
    func arePortsReady() -> Bool {
        guard signals.take(.anyPorts) else { return false }
        refreshItems()
        let isReady = own.items.ports.contains { $0.pendingMessages > 0 }
        // Timers come first.
        setWaiting(isReady)
        return isReady
    }

    /// Step 9. Handles messages; ports of one order take turns. Messages that arrive meanwhile wait for the next turn. Returns
    /// whether there was one.
    func handlePorts(known: Bool, onlyOne: Bool) -> Bool {
        guard signals.take(.anyPorts) || known else { return false }
        defer { setWaiting(false) }
        refreshItems()
        if onlyOne {
            guard mayCallOut, let port = own.items.ports.next(where: { $0.isValid && $0.pendingMessages > 0 }) else {
                return false
            }
            guard let message = port.takeMessage() else {
                // Another thread has invalidated or drained it meanwhile; other ports may have messages.
                signals.add(.ports)
                return false
            }
            setWaiting(own.items.ports.contains { $0.pendingMessages > 0 })
            callOutInTurn(port) { port.handle(message) }
            return true
        }
        let version = own.version
        var ready: RunLoopPort?
        for port in own.items.ports where port.pendingMessages > 0 {
            if ready != nil { return handlePortsByTurns(version) }
            ready = port
        }
        guard let ready else { return false }
        var handled = false
        ready.dueMessages.store(ready.pendingMessages, ordering: .relaxed)
        while handleOne(of: ready, unchangedSince: version) { handled = true }
        return handled
    }

    /// The same if several ports have messages.
    private func handlePortsByTurns(_ version: UInt64) -> Bool {
        // Taken, so that a nested run has a separate list.
        var ports = own.sparePorts
        own.sparePorts = []
        var left = 0
        for port in own.items.ports where port.pendingMessages > 0 {
            let count = port.pendingMessages
            port.dueMessages.store(count, ordering: .relaxed)
            left += count
            ports.append(port)
        }
        var handled = false
        var begin = ports.startIndex
        while begin < ports.endIndex {
            // Ports of one order, a message each, until all that had arrived before are handled.
            var end = ports[begin...].firstIndex { $0.order > ports[begin].order } ?? ports.endIndex
            let afterEquals = end
            while begin < end {
                var kept = begin
                for index in begin..<end {
                    let port = ports[index]
                    guard handleOne(of: port, unchangedSince: version, hasMore: left > 1) else { continue }
                    left -= 1
                    handled = true
                    ports[kept] = port
                    kept += 1
                }
                end = kept
            }
            begin = afterEquals
        }
        ports.removeAll(keepingCapacity: ports.count <= Self.keptPorts)
        own.sparePorts = ports
        return handled
    }

    /// The memory of a list of this many ports is kept for the next turn.
    private static let keptPorts = 256

    /// False if nothing is left of what the turn found in the port; a nested run may have handled it.
    /// - Parameter hasMore: whether messages of other ports wait.
    private func handleOne(of port: RunLoopPort, unchangedSince version: UInt64, hasMore: Bool = false) -> Bool {
        guard port.dueMessages.load(ordering: .relaxed) > 0 else { return false }
        refreshItems()
        guard own.version == version || isStillServed(port), port.isValid else { return false }
        guard mayCallOut, let message = port.takeMessage() else { return false }
        port.dueMessages.subtract(1, ordering: .relaxed)
        setWaiting(hasMore || port.pendingMessages > 0)
        callOut { port.handle(message) }
        return true
    }

    /// Step 9. Calls the sources whose descriptors were found ready. Returns whether there was one.
    /// - Parameter onlyOne: equals take turns.
    func handleDescriptors(onlyOne: Bool) -> Bool {
        guard own.poller.hasReadySources else { return false }
        var ready = own.poller.takeReadySources()[...]
        var handled = false
        let version = own.poller.readyVersion
        if onlyOne {
            refreshItems()
            let next = ready.next {
                $0.isValid && $0.hasReadyEvents && (own.version == version || isStillServed($0))
            }
            // It is level-triggered: the next poll finds again what is skipped now.
            for source in ready where source !== next { _ = source.takeReady() }
            ready = next.map { [$0] } ?? []
        }
        for source in ready {
            refreshItems()
            let events = source.takeReady()
            guard !events.isEmpty else { continue }
            guard mayCallOut, source.isValid, own.version == version || isStillServed(source) else { continue }
            if onlyOne {
                callOutInTurn(source) { source.handler(source, events) }
            } else {
                callOut { source.handler(source, events) }
            }
            handled = true
        }
        return handled
    }

    /// Whether this run has to drain the main dispatch queue.
    var isMainQueueDue: Bool { own.poller.isMainQueueReady && servesMainQueue }

    /// Step 9. Drains the main dispatch queue. Returns whether it was drained.
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
        // If it gets no descriptor now (too many may be open), the next run tries again.
        if own.poller.watchMainQueue(drain.descriptor) { own.mainQueue = drain }
    }

    /// The main queue is served in the common modes, and not from within one of its own blocks.
    private var servesMainQueue: Bool { own.isCommonMode && own.mainQueue?.canDrain == true }

    /// Whether nothing could ever wake a run in the present mode.
    var isModeEmpty: Bool {
        own.items.hasNothingToWaitFor && !own.timers.hasTimersToWaitFor && !servesMainQueue && !hasPerforms
    }

    /// After a change, copies the mode's items again and plans its timers.
    func refreshItems() {
        let changes = signals.takeEach([.items, .timers])
        if changes.isEmpty { return }
        if changes.contains(.items) { reloadItems() } else { planTimers() }
    }

    func reloadItems() {
        guard let mode = own.mode else { return }
        _ = signals.take([.items, .timers])
        // An item that only the poller still holds may call anything in its deinit: not while the lock is held.
        let earlier = own.poller.sources
        defer { withExtendedLifetime(earlier) {} }
        if own.poller.takeLossOfMainQueue() { own.mainQueue = nil }
        let (items, isCommonMode, timers) = registry.withLock { registry in
            let items = registry.items(of: mode)
            // With the lock held: a thread that removes a source finds its descriptor either watched or not yet watched.
            own.poller.update(items.descriptors, after: registry.epoll.takeForgotten())
            registry.epoll.instance = own.poller.instance
            registry.epoll.wake = own.poller.wakeDescriptor
            return (items, registry.commonModes.contains(mode), registry.timers.plan(for: mode))
        }
        own.items = items
        own.isCommonMode = isCommonMode
        own.observed = items.observedActivities
        own.timers = timers
        own.version &+= 1
    }
}
