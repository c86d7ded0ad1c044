internal import CLagLinux

/// How other threads reach a loop: bits of work, and the wake. See cll_wake.h for the protocol.
// Sendable without a check: the only stored property is an immutable pointer to memory that lives as long as this
// object; all threads access that memory with atomic operations, except `event_fd` and the count of writes, which the
// loop's thread writes while it is awake, before the first sleep that could make another thread read them.
final class LoopSignals: @unchecked Sendable {
    struct Work: OptionSet, Sendable {
        let rawValue: UInt32
        static let sources = Work(rawValue: UInt32(CLL_WORK_SOURCES))
        static let ports = Work(rawValue: UInt32(CLL_WORK_PORTS))
        static let blocks = Work(rawValue: UInt32(CLL_WORK_BLOCKS))
        static let items = Work(rawValue: UInt32(CLL_WORK_ITEMS))
        static let pings = Work(rawValue: UInt32(CLL_WORK_PINGS))
        static let timers = Work(rawValue: UInt32(CLL_WORK_TIMERS))
        /// What concerns one mode more than another. A ping is for any.
        static let ofModes: Work = [.sources, .ports, .blocks, .items, .timers]
    }

    let raw: UnsafeMutablePointer<cll_wake>

    init() {
        guard let memory = cll_wake_create() else { fatalError("no memory for 64 bytes of a run loop") }
        raw = memory
    }

    deinit { cll_wake_destroy(raw) }

    /// Any thread. One atomic operation.
    func add(_ work: Work) { cll_wake_add_work(raw, work.rawValue) }

    /// Any thread. One atomic operation; a system call only when the loop sleeps and was not woken yet.
    func wakeUp() { cll_wake_up(raw) }

    /// Any thread.
    var isAsleep: Bool { cll_wake_is_asleep(raw) != 0 }

    /// Whether any of `work` is there. Own thread.
    func has(_ work: Work) -> Bool { cll_wake_work(raw) & work.rawValue != 0 }

    /// Takes `work`; true when any of it was there. Own thread.
    func take(_ work: Work) -> Bool { cll_wake_take_work(raw, work.rawValue) != 0 }

    /// Takes `work`; which of it was there. Own thread.
    func takeEach(_ work: Work) -> Work { Work(rawValue: cll_wake_take_work(raw, work.rawValue)) }

    /// Takes a pending wake: what was published before it is seen by the caller. Own thread.
    func takeWake() { cll_wake_take(raw) }

    /// Whether a wake is pending. Own thread.
    var isWakePending: Bool { cll_wake_is_pending(raw) != 0 }
}
