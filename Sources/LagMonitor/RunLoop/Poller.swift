internal import CLagLinux
internal import Glibc

/// What a loop sleeps on: its wake word alone, or epoll as soon as a descriptor is watched. The loop's thread only.
///
/// A loop without descriptors sleeps in a futex: it needs no descriptor of its own, and its wake is the cheaper
/// one. The first watched descriptor makes one epoll instance and one eventfd, kept until the end.
/// Timers need no timerfd: both ways of sleeping take a deadline in nanoseconds, which saves a system call a turn.
final class Poller {
    private struct Watch {
        var events: RunLoopDescriptorSource.Events = []
        var sources: [RunLoopDescriptorSource] = []
        var isAlwaysReady = false
        var isFailed = false
    }

    private static let capacity = 64

    private let signals: LoopSignals
    private var epoll: Int32 = -1
    private var ready: UnsafeMutablePointer<cll_ready>?
    private var watches: [Int32: Watch] = [:]
    private var updatedTo: [RunLoopDescriptorSource] = []
    private var alwaysReady: [Int32] = []
    /// Whether a descriptor could not be watched: the next update tries again.
    private var hasFailed = false
    private var mainQueueDescriptor: Int32 = -1

    /// Sources found ready and not yet handled.
    private var readySources: [RunLoopDescriptorSource] = []
    /// Whether the main dispatch queue has asked to be drained.
    var isMainQueueReady = false

    init(signals: LoopSignals) { self.signals = signals }

    /// Whether there is anything but the wake word to wait for.
    var watchesDescriptors: Bool { !watches.isEmpty || mainQueueDescriptor >= 0 }

    /// Watches exactly the descriptors of `sources` from now on.
    func update(_ sources: [RunLoopDescriptorSource]) {
        if !hasFailed, sources.elementsEqual(updatedTo, by: ===) { return }
        updatedTo = sources
        var wanted: [Int32: Watch] = [:]
        for source in sources where source.isValid {
            wanted[source.descriptor, default: Watch()].events.formUnion(source.events)
            wanted[source.descriptor, default: Watch()].sources.append(source)
        }
        for descriptor in watches.keys where wanted[descriptor] == nil { cll_poller_unwatch(epoll, descriptor) }
        for (descriptor, watch) in wanted {
            // The same number may be another file by now: only the very same sources prove that nothing changed.
            if let old = watches[descriptor], !old.isFailed, old.events == watch.events,
                old.sources.elementsEqual(watch.sources, by: ===)
            {
                wanted[descriptor]?.isAlwaysReady = old.isAlwaysReady
                continue
            }
            let error = start() ?? cll_poller_watch(epoll, descriptor, watch.events.rawValue, 0)
            // For good: what is ready for one thread alone may still be there when the descriptor is not.
            if error == 0, cll_poller_may_ask(descriptor) == 0 { signals.publish(epoll: LoopSignals.unaskable) }
            wanted[descriptor]?.isAlwaysReady = error == EPERM
            wanted[descriptor]?.isFailed = error != 0 && error != EPERM
            for source in watch.sources { source.setWatchError(error == EPERM ? 0 : error) }
        }
        watches = wanted
        alwaysReady = wanted.filter(\.value.isAlwaysReady).map(\.key)
        hasFailed = wanted.values.contains { $0.isFailed }
    }

    /// Watches the main dispatch queue's descriptor. Edge-triggered: libdispatch writes to it for every wake-up.
    /// - Returns: whether it is watched now.
    func watchMainQueue(_ descriptor: Int32) -> Bool {
        guard mainQueueDescriptor < 0, descriptor >= 0, start() == nil else { return false }
        guard cll_poller_watch(epoll, descriptor, UInt32(CLL_POLL_READABLE), 1) == 0 else { return false }
        mainQueueDescriptor = descriptor
        isMainQueueReady = true
        return true
    }

    /// Notes what is ready, without waiting.
    func poll() {
        guard watchesDescriptors, let ready else { return }
        recordReady(Int(cll_poller_poll(epoll, signals.raw, ready, Int32(Poller.capacity))))
    }

    /// Sleeps until woken, until a watched descriptor is ready, or until `deadline` (nanoseconds of the monotonic clock).
    func sleep(until deadline: UInt64) {
        guard watchesDescriptors, let ready else { return cll_wake_sleep(signals.raw, deadline) }
        if !alwaysReady.isEmpty {
            signals.takeWake()
            return poll()
        }
        recordReady(Int(cll_poller_sleep(epoll, signals.raw, deadline, ready, Int32(Poller.capacity))))
    }

    var hasReadySources: Bool { !readySources.isEmpty }

    /// Takes the sources found ready, in their order.
    func takeReadySources() -> [RunLoopDescriptorSource] {
        defer { readySources = [] }
        return readySources.count > 1 ? readySources.sorted { $0.order < $1.order } : readySources
    }

    /// Closes everything; the loop will not sleep again.
    func close() {
        cll_poller_detach_wake(signals.raw)
        signals.publish(epoll: -1)
        if epoll >= 0 { _ = Glibc.close(epoll) }
        epoll = -1
        ready?.deallocate()
        ready = nil
        watches = [:]
        updatedTo = []
        readySources = []
    }

    /// Makes the epoll instance at its first use. Nil, or an `errno`.
    private func start() -> Int32? {
        if epoll >= 0 { return nil }
        let created = cll_poller_create()
        guard created >= 0 else { return errno }
        let error = cll_poller_attach_wake(created, signals.raw)
        guard error == 0 else {
            _ = Glibc.close(created)
            return error
        }
        epoll = created
        signals.publish(epoll: created)
        ready = .allocate(capacity: Poller.capacity)
        return nil
    }

    private func recordReady(_ count: Int) {
        guard let ready else { return }
        for index in 0..<max(0, count) { recordReady(ready[index].fd, ready[index].events) }
        for descriptor in alwaysReady { recordReady(descriptor, UInt32.max) }
    }

    private func recordReady(_ descriptor: Int32, _ events: UInt32) {
        if descriptor == mainQueueDescriptor { isMainQueueReady = true }
        guard let watch = watches[descriptor] else { return }
        for source in watch.sources {
            let wanted = source.events.rawValue | (events == .max ? 0 : UInt32(CLL_POLL_HANGUP))
            guard events & wanted != 0 else { continue }
            source.addReadyEvents(events & wanted)
            readySources.append(source)
        }
    }
}
