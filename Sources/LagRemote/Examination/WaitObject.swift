internal import CLagLinux
internal import CLagRemote
package import LagActivity

/// The object on which a thread of another process waits for events: an epoll instance, or the descriptors of its last `poll` or
/// `select`.
///
/// It is read while the thread sleeps in that wait, and identifies the loop: the thread may wait on it at any place of its stack.
package struct WaitObject: Sendable {
    /// The kind of the object, as far as the kernel shows.
    package enum Kind: Sendable, Equatable {
        /// Several descriptors, or one with many possible peers (a listening socket, an eventfd): typical for event loops.
        case loop
        /// No descriptor at all: a sleep.
        case timer
        /// Only a terminal, or a connection to a display server: its user may type while the program computes or sleeps.
        case terminal
        /// One connection or pipe, or pipes of which one is a standard stream (a filter): a blocking read with a timeout, by a
        /// thread that serves one peer. Also the object of a single-threaded process that serves one client on an accepted
        /// connection: only that client waits for it.
        case peer
        /// Pipes and signals of a helper that a server has forked, which works periodically.
        case helper
        /// The program has closed it.
        case gone
        /// The thread was never found in its wait.
        case unseen
        /// The kernel does not permit examining it.
        case unknown
    }

    /// Why pending work is not known.
    package enum Obstacle: String, Sendable {
        /// The kernel refuses duplicates of the process's descriptors (ptrace permission), or lacks them (before Linux 5.6).
        case refused
        /// The process has a signalfd, which other processes must not poll.
        case signalfd
        /// Some descriptors cannot be polled, or there are too many.
        case descriptors
        /// Only descriptors that an epoll instance reports once for each event are ready, and they may have been reported.
        case edge
        /// The thread was never found in its wait.
        case unseen
    }

    /// Whether an epoll instance watches a signalfd: cached from one poll to the next, because finding out takes time.
    package struct SignalMembers: Sendable {
        fileprivate var raw = clr_signal_members()

        package init() {}
    }

    /// The result of one poll.
    package struct Work: Sendable, Equatable {
        package var pending: PendingWork
        package var kind: Kind
        package var obstacle: Obstacle?
        /// Whether only eventfds are ready, with which a thread of the program wakes the loop.
        package var isWakeUp = false
        /// For a ring of io_uring: how many completions the program has taken from it so far.
        package var fetched: UInt32?
    }

    private var raw = clr_wait_object()

    /// The epoll instance's descriptor; nil: another kind of wait.
    package var epoll: Int32? { raw.epoll >= 0 ? raw.epoll : nil }

    /// A ring of io_uring, which cannot be polled.
    var isRing: Bool { raw.is_ring != 0 }

    /// No descriptor at all.
    var isTimeAlone: Bool { raw.epoll < 0 && raw.is_ring == 0 && raw.count == 0 && raw.is_complete != 0 }

    package init(epoll: Int32) { raw.epoll = epoll }

    /// An unknown object.
    init() { raw.epoll = -1 }

    /// Whether a thread that sleeps in this call waits for all of it: in a loop within a handler.
    func isWaited(in call: inout cll_thread_syscall, of process: Int32) -> Bool {
        withUnsafePointer(to: raw) { clr_wait_contains(process, &call, $0) != 0 }
    }

    /// Whether a thread that sleeps in this call waits only for its user, whose terminal is one of these descriptors.
    func asksUser(in call: inout cll_thread_syscall, of process: Int32) -> Bool {
        withUnsafePointer(to: raw) { clr_wait_asks_user(process, &call, $0) != 0 }
    }

    /// Whether it can only deliver new connections, and the process has no connection from there.
    func hasNoClient(pidfd: Int32, process: Int32) -> Bool {
        withUnsafePointer(to: raw) { clr_has_no_client(pidfd, process, $0) != 0 }
    }

    /// Whether it can only deliver new connections, and a thread that sleeps in this call waits for a connection from there.
    func awaitsClient(in call: inout cll_thread_syscall, pidfd: Int32, process: Int32) -> Bool {
        withUnsafePointer(to: raw) { clr_awaits_client(pidfd, process, &call, $0) != 0 }
    }

    /// Whether a thread that sleeps in this call accepts a connection at a listening socket of this object.
    func isAccepted(in call: inout cll_thread_syscall, process: Int32) -> Bool {
        withUnsafePointer(to: raw) { clr_accepts_for(process, &call, $0) != 0 }
    }

    /// Whether this listening socket is certainly not among its descriptors.
    func excludes(listener: Int32, process: Int32) -> Bool {
        var listener = listener
        return withUnsafePointer(to: raw) { clr_waits_at(process, $0, &listener, 1) == 0 }
    }

    /// Whether the process has closed all of it.
    func isClosed(by process: Int32) -> Bool { withUnsafePointer(to: raw) { clr_is_closed(process, $0) != 0 } }

    /// Whether another one of the first `most` threads sleeps in `accept` at one of its listening sockets; nil: not known,
    /// because there are more threads, or its descriptors cannot be listed.
    func hasOtherAcceptor(process: Int32, tid: Int32, most: UInt32) -> Bool? {
        let found = withUnsafePointer(to: raw) { clr_has_other_acceptor(process, tid, $0, most) }
        return found < 0 ? nil : found > 0
    }

    /// Whether a ready event comes from a client or user (assumed for anything but a set); false: all ready events are the
    /// program's own; nil: not known.
    func hasClientWork(pidfd: Int32, process: Int32) -> Bool? {
        switch Int(withUnsafePointer(to: raw) { clr_client_waits(pidfd, process, $0) }) {
        case CLR_CLIENT_NONE: false
        case CLR_CLIENT_WAITS: true
        default: nil
        }
    }

    /// Whether it can only deliver new connections.
    func isForClientsAlone(pidfd: Int32, process: Int32) -> Bool {
        withUnsafePointer(to: raw) { clr_waits_for_clients_alone(pidfd, process, $0) != 0 }
    }

    /// The listening sockets of an epoll instance at which a client waits, though they report only once and are left to a handler
    /// of the process's only thread, so that the instance itself is not ready; nil: none.
    static func heldListeners(of epoll: Int32, pidfd: Int32, process: Int32) -> WaitObject? {
        var listeners = WaitObject()
        return clr_held_listeners(pidfd, process, epoll, &listeners.raw) != 0 ? listeners : nil
    }

    /// Whether a client waits to be accepted at one of its listening sockets; for a set of several, if another client was
    /// accepted there and is connected.
    func hasWaitingClient(pidfd: Int32, process: Int32) -> Bool {
        withUnsafePointer(to: raw) { clr_has_waiting_client(pidfd, process, $0) != 0 }
    }

    /// The ready listening sockets, if nothing else is ready; nil: none, or something else is.
    func readyListeners(pidfd: Int32, process: Int32) -> WaitObject? {
        var listeners = WaitObject()
        let isFound = withUnsafePointer(to: raw) { clr_ready_listeners(pidfd, process, $0, &listeners.raw) > 0 }
        return isFound ? listeners : nil
    }

    /// Whether only listening sockets are ready; nil: it cannot be examined.
    func hasOnlyClients(pidfd: Int32, process: Int32) -> Bool? {
        var listeners = WaitObject()
        let found = withUnsafePointer(to: raw) { clr_ready_listeners(pidfd, process, $0, &listeners.raw) }
        return found < 0 ? nil : found > 0
    }

    /// The identities of its sockets; nil: they cannot be read, or there are too many.
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

    /// Whether a process has one of its descriptors with the same number.
    func isInherited(by process: Int32) -> Bool { withUnsafePointer(to: raw) { clr_has_sockets(process, $0) != 0 } }

    /// The descriptors that another wait of the same thread does not have.
    func subtracting(_ other: WaitObject) -> WaitObject {
        var rest = self
        withUnsafePointer(to: other.raw) { clr_wait_object_subtract(&rest.raw, $0) }
        return rest
    }

    /// The only listening socket of a process; nil: it has none, or more than one.
    init?(loneListenerOf process: Int32, pidfd: Int32) {
        guard clr_lone_listener(pidfd, process, &raw) != 0 else { return nil }
    }

    /// The object of a thread that sleeps in a call; nil: the call is not a wait for events, or cannot be read.
    init?(process: Int32, of call: cll_thread_syscall) {
        var call = call
        guard clr_wait_object_read(process, &call, &raw) != 0 else { return nil }
    }

    /// The address on its own stack where a thread that sleeps in this call has its events stored; nil: elsewhere, or not such a
    /// call. (The sets of a `select` are small, but interpreters put large data beside them.)
    static func eventsOnStack(of call: cll_thread_syscall) -> UInt64? {
        let address: UInt64
        switch Int(clr_wait_kind(call.number)) {
        case CLR_WAIT_EPOLL: address = call.arguments.1
        case CLR_WAIT_POLL: address = call.arguments.0
        default: return nil
        }
        return address >= call.sp && address - call.sp < stackBytes ? address : nil
    }

    /// The largest frames of waiting functions have some 16 KB.
    private static let stackBytes: UInt64 = 65536

    /// Queries the kernel. Consumes no event, keeps nothing open. Blocks only while the kernel copies
    /// events into paged-out memory of the program. Takes about 5 µs for epoll, 3 µs per descriptor for a set.
    /// - Parameters:
    ///   - pidfd: the process's pidfd.
    ///   - tid: the waiting thread.
    ///   - signals: the recent result about its signalfd.
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
        case CLR_UNKNOWN_EDGE: .edge
        default: .refused
        }
    }
}
