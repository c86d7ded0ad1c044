internal import CLagBeacon
internal import LagActivity
internal import Synchronization

extension ObservedRunLoop {
    /// The thread ends: everything the loop holds is released, and every waiting thread is notified. On the loop's thread, once.
    ///
    /// Manual sources get their cancel callbacks; timers become invalid; other items can be added to another loop. The beacon
    /// says `.finished` last, when nothing of the loop's work is left.
    func finish() {
        let (modes, otherItems) = registry.withLock { registry in
            defer {
                registry.isFinished = true
                registry.modes = [:]
                registry.commonItems = ModeItems()
                registry.everyModeItems = ModeItems()
            }
            return (registry.modes, [registry.commonItems, registry.everyModeItems])
        }
        let (items, delayed) = performs.withLock { queue in
            defer {
                queue.isFinished = true
                queue.items = []
                queue.delayed = []
            }
            return (queue.items, queue.delayed)
        }
        for item in items { item.abandon?() }
        for (mode, content) in modes {
            for source in content.sources { source.cancel?(self, mode) }
            release(content)
        }
        for content in otherItems { release(content) }
        for (_, timer) in delayed { timer.invalidate() }
        own.reset()
        own.spareBatch = []
        own.poller.close()
        beacon.setMode(0)
        // The strong order: a parked watchdog must not miss it, it lets go of the loop.
        beacon.wake(.finished, at: clb_now_ns())
    }

    private func release(_ items: ModeItems) {
        for observer in items.observers { observer.attachment.detach() }
        for source in items.sources { source.attachment.detach() }
        for port in items.ports { port.attachment.detach() }
        for descriptor in items.descriptors { descriptor.attachment.detach() }
        for timer in items.timers {
            timer.invalidate()
            timer.attachment.detach()
        }
    }
}
