internal import CLagBeacon
internal import LagActivity
internal import LagModel

extension ObservedRunLoop {
    /// The thread ends: everything the loop holds is released, and every waiting thread is notified. On the loop's thread, once.
    ///
    /// Manual sources get their cancel callbacks; timers become invalid; other items can be added to another loop. These are free
    /// before the first callback, so a callback can add them there at once. The beacon publishes `.finished` last, when nothing
    /// of the loop's work is left.
    func finish() {
        let (modes, commonItems, timers) = registry.withLock { registry in
            registry.isFinished = true
            registry.epoll.instance = -1
            let (modes, commonItems) = (registry.modes, registry.commonItems)
            registry.modes = [:]
            registry.commonItems = ModeItems()
            let timers = registry.timers.removeAll()
            for content in modes.values { detach(content) }
            detach(commonItems)
            // Invalidate before detaching: no other loop may take it.
            for timer in timers {
                _ = timer.attachment.invalidate()
                timer.attachment.detach(from: self)
            }
            return (modes, commonItems, timers)
        }
        performs.withLock { submitted in
            submitted.isFinished = true
            own.work.fetch(from: &submitted)
        }
        for item in own.work.takeAll() { item.abandon?() }
        for (mode, content) in modes {
            for source in content.sources { source.cancel?(self, mode) }
        }
        for timer in timers { timer.releaseHandler() }
        own.reset()
        own.poller.close()
        beacon.setMode(0)
        // With the strong order: a parked watchdog must not miss it, because then it releases the loop.
        beacon.wake(.finished, at: clb_now_ns())
        // Released outside the lock: an item may hold the last reference to something.
        withExtendedLifetime((modes, commonItems)) {}
    }

    /// With the registry locked: an item that another loop takes after this belongs to that loop only.
    private func detach(_ items: ModeItems) {
        for observer in items.observers { observer.attachment.detach(from: self, ended: true) }
        for source in items.sources { source.attachment.detach(from: self, ended: true) }
        for port in items.ports { port.attachment.detach(from: self, ended: true) }
        for descriptor in items.descriptors { descriptor.attachment.detach(from: self, ended: true) }
    }
}
