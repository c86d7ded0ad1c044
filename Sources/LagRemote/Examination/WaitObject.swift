internal import CLagLinux
internal import CLagRemote
package import LagActivity

/// What a thread of another process waits on for events: an epoll instance, or the descriptors of its last `poll` or `select`.
///
/// It is read while the thread sleeps in that wait, and identifies the loop: the thread may wait on it from anywhere in its stack.
package struct WaitObject: Sendable {
    /// What kind of an object it is, as far as the kernel says.
    package enum Kind: Sendable, Equatable {
        /// Several descriptors, or one that many others reach (a listening socket, an eventfd): what event loops wait on.
        case loop
        /// No descriptor at all: a sleep.
        case timer
        /// A terminal alone: somebody may type there while the program computes or sleeps.
        case terminal
        /// One connection or pipe, or pipes of which one is a standard stream (a filter): a blocking read with a time-out, of a thread that serves
        /// one other party. So is what a process of one thread waits on that serves one client by a connection that was accepted: who waits for it is
        /// the one who asked.
        case peer
        /// Pipes and signals of a helper that a server has forked: it does what it has to do by the clock.
        case helper
        /// The program has closed it.
        case gone
        /// The thread was never found in its wait.
        case unseen
        /// The kernel does not let us see it.
        case unknown
    }

    /// Why it is not known whether work is pending.
    package enum Obstacle: String, Sendable {
        /// The kernel refuses duplicates of the process's descriptors (ptrace permission), or has none (before Linux 5.6).
        case refused
        /// The process has a signalfd, which must not be asked by others.
        case signalfd
        /// Some of the descriptors cannot be asked, or they are too many.
        case descriptors
        /// The thread was never found in its wait.
        case unseen
    }

    /// Whether an epoll instance watches a signalfd: kept from one poll to the next, for that takes time.
    package struct SignalMembers: Sendable {
        fileprivate var raw = clr_signal_members()

        package init() {}
    }

    /// What one poll has found.
    package struct Work: Sendable, Equatable {
        package var pending: PendingWork
        package var kind: Kind
        package var obstacle: Obstacle?
        /// Whether nothing is ready but what a thread of the program's own wakes the loop by (eventfd(2)).
        package var isWakeUp = false
        /// Of a ring of io_uring: how many completions the program has taken from it so far.
        package var fetched: UInt32?
    }

    private var raw = clr_wait_object()

    /// The epoll instance's descriptor; nil: another kind of wait.
    package var epoll: Int32? { raw.epoll >= 0 ? raw.epoll : nil }

    /// A ring of io_uring, which cannot be asked.
    var isRing: Bool { raw.is_ring != 0 }

    package init(epoll: Int32) { raw.epoll = epoll }

    /// One of which nothing is known.
    init() { raw.epoll = -1 }

    /// Whether a thread that sleeps in this call waits there for all of it: in a loop within a handler.
    func isWaited(in call: inout cll_thread_syscall, of process: Int32) -> Bool {
        withUnsafePointer(to: raw) { clr_wait_contains(process, &call, $0) != 0 }
    }

    /// Whether a thread that sleeps in this call waits there for its user alone, whose terminal is one of what this is.
    func asksUser(in call: inout cll_thread_syscall, of process: Int32) -> Bool {
        withUnsafePointer(to: raw) { clr_wait_asks_user(process, &call, $0) != 0 }
    }

    /// Whether nothing can come from it but new connections, and the process has none that came from there.
    func hasNoClient(pidfd: Int32, process: Int32) -> Bool {
        withUnsafePointer(to: raw) { clr_has_no_client(pidfd, process, $0) != 0 }
    }

    /// Whether nothing can come from it but new connections, and a thread that sleeps in this call waits for one that came from there.
    func awaitsClient(in call: inout cll_thread_syscall, pidfd: Int32, process: Int32) -> Bool {
        withUnsafePointer(to: raw) { clr_awaits_client(pidfd, process, &call, $0) != 0 }
    }

    /// Whether a thread that sleeps in this call accepts a connection at a listening socket that it is for.
    func isAccepted(in call: inout cll_thread_syscall, process: Int32) -> Bool {
        withUnsafePointer(to: raw) { clr_accepts_for(process, &call, $0) != 0 }
    }

    /// Whether something that is ready of it is from one who asks the program for something, which of anything but a set is taken to be so; false: all that
    /// is ready is the program's own; nil: that is not known.
    func hasClientWork(pidfd: Int32, process: Int32) -> Bool? {
        switch Int(withUnsafePointer(to: raw) { clr_client_waits(pidfd, process, $0) }) {
        case CLR_CLIENT_NONE: false
        case CLR_CLIENT_WAITS: true
        default: nil
        }
    }

    /// Whether nothing can come from it but new connections.
    func isForClientsAlone(pidfd: Int32, process: Int32) -> Bool {
        withUnsafePointer(to: raw) { clr_waits_for_clients_alone(pidfd, process, $0) != 0 }
    }

    /// Whether a client waits to be accepted at a listening socket of it, of a set one of several: another was accepted there, and is connected.
    func hasWaitingClient(pidfd: Int32, process: Int32) -> Bool {
        withUnsafePointer(to: raw) { clr_has_waiting_client(pidfd, process, $0) != 0 }
    }

    /// The listening sockets that are ready, where nothing else of it is; nil: there are none, or something else is.
    func readyListeners(pidfd: Int32, process: Int32) -> WaitObject? {
        var listeners = WaitObject()
        let isFound = withUnsafePointer(to: raw) { clr_ready_listeners(pidfd, process, $0, &listeners.raw) != 0 }
        return isFound ? listeners : nil
    }

    /// What identifies the sockets of it; nil: they cannot be read, or are too many.
    func sockets(of process: Int32) -> [UInt64]? {
        var isRead = false
        let sockets = [UInt64](unsafeUninitializedCapacity: Int(CLR_SOCKETS_MAX)) { found, count in
            guard let start = found.baseAddress else { return }
            let length = withUnsafePointer(to: raw) { clr_wait_sockets(process, $0, start) }
            isRead = length >= 0
            count = max(Int(length), 0)
        }
        return isRead ? sockets : nil
    }

    /// Whether one of these sockets is among its descriptors.
    func hasOne(of sockets: [UInt64]) -> Bool {
        withUnsafePointer(to: raw.waited) { waited in
            waited.withMemoryRebound(to: clr_waited.self, capacity: Int(CLR_WAITED_MAX)) { waited in
                (0..<min(Int(raw.count), Int(CLR_WAITED_MAX))).contains { sockets.contains(waited[$0].identity) }
            }
        }
    }

    /// Whether a process has one of it by the same number.
    func isInherited(by process: Int32) -> Bool { withUnsafePointer(to: raw) { clr_has_sockets(process, $0) != 0 } }

    /// What of it another wait of the same thread is not for.
    func subtracting(_ other: WaitObject) -> WaitObject {
        var rest = self
        withUnsafePointer(to: other.raw) { clr_wait_object_subtract(&rest.raw, $0) }
        return rest
    }

    /// The socket by which all connections of a process come; nil: it has none, or more than one.
    init?(loneListenerOf process: Int32, pidfd: Int32) {
        guard clr_lone_listener(pidfd, process, &raw) != 0 else { return nil }
    }

    /// The object of a thread that sleeps in a call; nil: the call is no wait for events, or cannot be read.
    init?(process: Int32, of call: cll_thread_syscall) {
        var call = call
        guard clr_wait_object_read(process, &call, &raw) != 0 else { return nil }
    }

    /// Where on its own stack a thread that sleeps in this call has its events put; nil: elsewhere, or that is no such call. (The sets of a
    /// `select` are small, and what interpreters put beside them is not.)
    static func eventsOnStack(of call: cll_thread_syscall) -> UInt64? {
        let address: UInt64
        switch Int(clr_wait_kind(call.number)) {
        case CLR_WAIT_EPOLL: address = call.arguments.1
        case CLR_WAIT_POLL: address = call.arguments.0
        default: return nil
        }
        return address >= call.sp && address - call.sp < stackBytes ? address : nil
    }

    /// The largest frames of functions that wait have some 16 KB.
    private static let stackBytes: UInt64 = 65536

    /// Asks the kernel. Consumes no event, keeps nothing open. Waits only as long as the kernel copies
    /// events into memory of the program that is not there (a page on disk). About 5 µs for epoll, 3 µs a descriptor for a set.
    /// - Parameters:
    ///   - pidfd: of the process.
    ///   - tid: the thread whose wait it is.
    ///   - signals: what was found of its signalfd a moment ago.
    package func work(pidfd: Int32, process: Int32, tid: Int32, signals: inout SignalMembers) -> Work {
        var found = clr_work()
        withUnsafePointer(to: raw) { clr_wait_object_poll(pidfd, process, tid, $0, &signals.raw, &found) }
        let kind: Kind =
            switch Int(found.kind) {
            case CLR_OBJECT_LOOP: .loop
            case CLR_OBJECT_TIMER: .timer
            case CLR_OBJECT_PEER: .peer
            case CLR_OBJECT_TERMINAL: .terminal
            case CLR_OBJECT_GONE: .gone
            default: .unknown
            }
        let fetched = found.is_ring != 0 ? found.fetched : nil
        switch Int(found.state) {
        case CLR_WORK_NONE: return Work(pending: .none, kind: kind, fetched: fetched)
        case CLR_WORK_PENDING: return Work(pending: .pending, kind: kind, isWakeUp: found.is_wake_up != 0, fetched: fetched)
        default: return Work(pending: .unknown, kind: kind, obstacle: Self.obstacle(found.reason))
        }
    }

    private static func obstacle(_ reason: Int32) -> Obstacle {
        switch Int(reason) {
        case CLR_UNKNOWN_SIGNALFD: .signalfd
        case CLR_UNKNOWN_DESCRIPTORS: .descriptors
        default: .refused
        }
    }
}
