internal import CLagLinux
internal import Glibc

/// What a loop sleeps on: its wake word alone, or epoll as soon as a descriptor is watched. The loop's thread only.
///
/// A loop without descriptors sleeps in a futex: it needs no descriptor of its own, and this wake is the cheaper one. The first
/// watched descriptor creates one epoll instance and one eventfd, kept until the end. Timers need no timerfd: both ways of
/// sleeping take a deadline in nanoseconds, which saves a system call per turn.
final class Poller {
    private static let capacity = 64

    private let signals: LoopSignals
    /// The epoll instance; -1: none.
    private(set) var instance: Int32 = -1
    private var ready: UnsafeMutablePointer<cll_ready>?
    private var watches: [Int32: [RunLoopDescriptorSource]] = [:]
    /// All that are watched.
    private(set) var sources = ItemList<RunLoopDescriptorSource>()
    private var alwaysReady: Set<Int32> = []
    /// Descriptors that could not be watched: the next update tries again.
    private var failed: Set<Int32> = []
    private var mainQueueDescriptor: Int32 = -1

    private var hasLostMainQueue = false

    private var readySources: [RunLoopDescriptorSource] = []
    /// The version of the loop's items in which the first of them was found.
    private(set) var readyVersion: UInt64 = 0
    /// Whether the main dispatch queue has requested to be drained.
    var isMainQueueReady = false

    init(signals: LoopSignals) { self.signals = signals }

    /// Whether there is anything to wait for besides the wake word.
    var watchesDescriptors: Bool { !watches.isEmpty || mainQueueDescriptor >= 0 }

    /// Watches exactly the descriptors of `sources` from now on. Call with the registry's lock held: a thread that removes a
    /// source also removes its descriptor from epoll, and must not be overtaken. Takes as many steps as there are changes; a list
    /// of n sources has n / 256 pieces.
    /// - Parameter forgotten: what was removed from epoll since the last update.
    func update(_ sources: ItemList<RunLoopDescriptorSource>, after forgotten: Set<Int32>) {
        var changed = failed.union(forgotten)
        let (removed, added) = sources.difference(from: self.sources)
        self.sources = sources
        for source in removed {
            // Its ready state may not be for the present mode, or no longer for this file.
            _ = source.takeReady()
            watches[source.descriptor]?.removeAll { $0 === source }
            changed.insert(source.descriptor)
        }
        for source in added where source.isValid {
            watches[source.descriptor, default: []].append(source)
            changed.insert(source.descriptor)
        }
        // Before any of them is watched: descriptors that the host has closed may have left their numbers to these.
        let obstacle = watches.isEmpty ? nil : start()
        for descriptor in changed { watch(descriptor, unless: obstacle) }
    }

    /// - Parameter obstacle: why the epoll instance is missing.
    private func watch(_ descriptor: Int32, unless obstacle: Int32?) {
        guard let sources = watches[descriptor] else { return }
        alwaysReady.remove(descriptor)
        failed.remove(descriptor)
        let isOwn = descriptor == instance || descriptor == wakeDescriptor
        guard !sources.isEmpty else {
            watches[descriptor] = nil
            return isOwn ? () : cll_poller_unwatch(instance, descriptor)
        }
        let events = sources.reduce(into: RunLoopDescriptorSource.Events()) { $0.formUnion($1.events) }
        let error = isOwn ? EBADF : obstacle ?? cll_poller_watch(instance, descriptor, events.rawValue, 0)
        // Permanently: a descriptor's state that is ready for one thread only may outlast the descriptor.
        if error == 0, cll_poller_may_ask(descriptor) == 0 { signals.publish(epoll: LoopSignals.unaskable) }
        if error == EPERM { alwaysReady.insert(descriptor) }
        if error != 0, error != EPERM { failed.insert(descriptor) }
        for source in sources { source.setWatchError(error == EPERM ? 0 : error) }
    }

    /// Watches the main dispatch queue's descriptor. Edge-triggered: libdispatch writes to it for every wake-up.
    /// - Returns: whether it is watched now.
    func watchMainQueue(_ descriptor: Int32) -> Bool {
        guard mainQueueDescriptor < 0, descriptor >= 0, start() == nil else { return false }
        guard cll_poller_watch(instance, descriptor, UInt32(CLL_POLL_READABLE), 1) == 0 else { return false }
        mainQueueDescriptor = descriptor
        isMainQueueReady = true
        return true
    }

    /// The eventfd that ends a sleep on descriptors; -1: none.
    var wakeDescriptor: Int32 { signals.raw.pointee.event_fd }

    /// Whether the main dispatch queue is no longer watched, since the last call.
    func takeLossOfMainQueue() -> Bool {
        defer { hasLostMainQueue = false }
        return hasLostMainQueue
    }

    /// Records what is ready, without waiting.
    /// - Parameter version: the version of the loop's items.
    func poll(in version: UInt64) {
        if readySources.isEmpty { readyVersion = version }
        guard watchesDescriptors, instance >= 0, let ready else { return }
        recordReady(Int(cll_poller_poll(instance, signals.raw, ready, Int32(Poller.capacity))))
    }

    /// Sleeps until woken, until a watched descriptor is ready, or until `deadline` (nanoseconds of the monotonic clock).
    func sleep(until deadline: UInt64, in version: UInt64) {
        if readySources.isEmpty { readyVersion = version }
        guard watchesDescriptors, instance >= 0, let ready else { return cll_wake_sleep(signals.raw, deadline) }
        if !alwaysReady.isEmpty {
            signals.takeWake()
            return poll(in: version)
        }
        recordReady(Int(cll_poller_sleep(instance, signals.raw, deadline, ready, Int32(Poller.capacity))))
    }

    var hasReadySources: Bool { !readySources.isEmpty }

    func takeReadySources() -> [RunLoopDescriptorSource] {
        defer { readySources = [] }
        return readySources.count > 1 ? readySources.sorted { $0.order < $1.order } : readySources
    }

    /// Closes everything; the loop will not sleep again.
    func close() {
        cll_poller_detach_wake(signals.raw)
        signals.publish(epoll: -1)
        if instance >= 0 { _ = Glibc.close(instance) }
        instance = -1
        ready?.deallocate()
        ready = nil
        watches = [:]
        sources = ItemList()
        readySources = []
    }

    /// Creates the epoll instance on first use. Nil, or an `errno`.
    private func start() -> Int32? {
        if instance >= 0 { return nil }
        let created = cll_poller_create()
        guard created >= 0 else { return errno }
        let error = cll_poller_attach_wake(created, signals.raw)
        guard error == 0 else {
            _ = Glibc.close(created)
            return error
        }
        instance = created
        signals.publish(epoll: created)
        ready = ready ?? .allocate(capacity: Poller.capacity)
        return nil
    }

    /// The host has closed the loop's descriptors, as programs do that close every descriptor they do not know. Their numbers may
    /// belong to others by now; the loop starts again with new ones.
    private func lose() {
        signals.publish(epoll: -1)
        cll_poller_lose_wake(signals.raw)
        hasLostMainQueue = mainQueueDescriptor >= 0
        (instance, mainQueueDescriptor) = (-1, -1)
        failed = Set(watches.keys)
        signals.add(.items)
    }

    private func recordReady(_ count: Int) {
        guard count >= 0 else { return lose() }
        guard let ready else { return }
        for index in 0..<count { recordReady(ready[index].fd, ready[index].events) }
        for descriptor in alwaysReady { recordReady(descriptor, UInt32.max) }
    }

    private func recordReady(_ descriptor: Int32, _ events: UInt32) {
        if descriptor == mainQueueDescriptor { isMainQueueReady = true }
        guard let sources = watches[descriptor] else { return }
        for source in sources {
            let wanted = source.events.rawValue | (events == .max ? 0 : UInt32(CLL_POLL_HANGUP))
            guard events & wanted != 0 else { continue }
            source.addReadyEvents(events & wanted)
            readySources.append(source)
        }
    }
}
