internal import CLagLinux
internal import LagActivity
internal import Synchronization

/// How other threads reach a loop: bits of work, and the wake. See cll_wake.h for the protocol.
// Sendable without a check: the only stored property is an immutable pointer to memory that lives as long as this object. All
// threads access that memory with atomic operations, except `event_fd` and the count of writes: the loop's thread writes these
// while it is awake, before the first sleep that could make another thread read them.
final class LoopSignals: @unchecked Sendable {
    struct Work: OptionSet, Sendable {
        let rawValue: UInt32
        static let sources = Work(rawValue: UInt32(CLL_WORK_SOURCES))
        static let ports = Work(rawValue: UInt32(CLL_WORK_PORTS))
        static let blocks = Work(rawValue: UInt32(CLL_WORK_BLOCKS))
        static let items = Work(rawValue: UInt32(CLL_WORK_ITEMS))
        static let pings = Work(rawValue: UInt32(CLL_WORK_PINGS))
        static let timers = Work(rawValue: UInt32(CLL_WORK_TIMERS))
        /// The loop's thread has taken work that waits behind the callout in progress.
        static let waiting = Work(rawValue: UInt32(CLL_WORK_WAITING))
        // What to search for, whether or not there is any.
        private static let searchSources = Work(rawValue: UInt32(CLL_WORK_SEARCH_SOURCES))
        private static let searchPorts = Work(rawValue: UInt32(CLL_WORK_SEARCH_PORTS))
        private static let searchBlocks = Work(rawValue: UInt32(CLL_WORK_SEARCH_BLOCKS))
        static let anySources: Work = [.sources, .searchSources]
        static let anyPorts: Work = [.ports, .searchPorts]
        static let anyBlocks: Work = [.blocks, .searchBlocks]
        /// For a run in another mode: what the last one skipped may be for this mode. A ping is for any mode.
        static let ofModes: Work = [.searchSources, .searchPorts, .searchBlocks, .items, .timers]
    }

    let raw: UnsafeMutablePointer<cll_wake>
    /// An epoll instance that other threads must not query: for its own thread only, it drops a descriptor's ready state.
    static let unaskable: Int32 = -2
    /// The loop's epoll instance; negative: none, or ``unaskable``.
    private let epoll = Atomic<Int32>(-1)

    init() {
        guard let memory = cll_wake_create() else { fatalError("no memory for 64 bytes of a run loop") }
        raw = memory
    }

    deinit { cll_wake_destroy(raw) }

    /// Any thread. One atomic operation.
    func add(_ work: Work) { cll_wake_add_work(raw, work.rawValue) }

    /// Any thread. One atomic operation, plus a system call only if the loop sleeps and was not woken yet.
    func wakeUp() { cll_wake_up(raw) }

    /// Any thread.
    var isAsleep: Bool { cll_wake_is_asleep(raw) != 0 }

    /// Own thread.
    func publish(epoll descriptor: Int32) { epoll.store(descriptor, ordering: .releasing) }

    /// Whether something waits for the loop: submitted work, or a ready descriptor. Overdue timers do not count. Any thread; one
    /// system call if the loop watches descriptors. (For a loop that is just ending, the answer may refer to another descriptor.)
    var pendingWork: PendingWork {
        // One by one: a list of them would allocate. Pings belong to the monitor.
        if has(.sources) || has(.ports) || has(.blocks) || has(.waiting) { return .pending }
        let descriptor = epoll.load(ordering: .acquiring)
        if descriptor == Self.unaskable { return .unknown }
        return descriptor >= 0 && cll_poller_is_ready(descriptor) != 0 ? .pending : .none
    }

    /// Whether any of `work` is pending. Any thread.
    func has(_ work: Work) -> Bool { cll_wake_work(raw) & work.rawValue != 0 }

    /// Takes `work`; returns whether any of it was pending. Own thread.
    func take(_ work: Work) -> Bool { cll_wake_take_work(raw, work.rawValue) != 0 }

    /// Takes `work`; returns which of it was pending. Own thread.
    func takeEach(_ work: Work) -> Work { Work(rawValue: cll_wake_take_work(raw, work.rawValue)) }

    /// Takes a pending wake: the caller sees what was published before it. Own thread.
    func takeWake() { cll_wake_take(raw) }

    /// Whether a wake is pending. Own thread.
    var isWakePending: Bool { cll_wake_is_pending(raw) != 0 }
}
