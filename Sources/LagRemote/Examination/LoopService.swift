internal import CLagLinux
internal import CLagRemote

/// The purpose of a loop's process, and whether it has clients: answers of the kernel that cost some 3 µs per descriptor, cached
/// for a while.
///
/// One owner's, under its lock.
struct LoopService {
    /// Short, because a server gets and loses connections.
    private static let kindNanoseconds: UInt64 = 1_000_000_000
    /// The maximum delay before a new client's work is seen.
    private static let clientsNanoseconds: UInt64 = 100_000_000
    /// Some servers temporarily remove their listening socket from the loop.
    private static let socketsNanoseconds: UInt64 = 1_000_000_000

    private let process: ProcessHandle
    private var found: (kind: WaitObject.Kind?, epoll: Int32, nanoseconds: UInt64) = (nil, -1, 0)
    private var clients: (none: Bool, nanoseconds: UInt64) = (false, 0)
    private var sockets: (found: [UInt64], epoll: Int32?, nanoseconds: UInt64)?
    private var takesClientsAlone: (found: Bool, epoll: Int32, nanoseconds: UInt64) = (false, -1, 0)
    private var hasOneShots: (found: Bool, epoll: Int32, nanoseconds: UInt64) = (false, -1, 0)
    private var channels: (none: Bool, epoll: Int32, nanoseconds: UInt64) = (false, -1, 0)

    init(of process: ProcessHandle) { self.process = process }

    /// Its purpose, if it runs no loop on this epoll instance; nil: it may run one.
    mutating func kind(of epoll: Int32?, at now: UInt64) -> WaitObject.Kind? {
        guard let epoll else { return nil }
        if epoll != found.epoll || now >= found.nanoseconds &+ Self.kindNanoseconds {
            let kind: WaitObject.Kind? =
                switch Int(clr_service(process.descriptor, process.pid, epoll)) {
                case CLR_SERVES_ONE_PEER: .peer
                case CLR_SERVES_ITSELF: .helper
                // The kind when it had members; an instance that never had any belongs to a helper, which waits for time.
                case CLR_SERVES_UNKNOWN: epoll == found.epoll ? found.kind : .helper
                default: nil
                }
            found = (kind, epoll, now)
        }
        return found.kind
    }

    /// Whether the loop's object can only deliver new connections, and the process has no connection from there.
    mutating func hasNoClient(of object: WaitObject?, at now: UInt64) -> Bool {
        guard let object else { return false }
        if !clients.none || now >= clients.nanoseconds &+ Self.clientsNanoseconds {
            clients = (object.hasNoClient(pidfd: process.descriptor, process: process.pid), now)
        }
        return clients.none
    }

    /// Whether a thread that sleeps in this call waits for a client of the loop, which itself only waits for new ones. (For an
    /// epoll instance this is determined once a second, because the kernel holds its lock meanwhile.)
    mutating func awaitsClient(of object: WaitObject, in call: inout cll_thread_syscall, at now: UInt64) -> Bool {
        if let epoll = object.epoll {
            if epoll != takesClientsAlone.epoll || now >= takesClientsAlone.nanoseconds &+ Self.socketsNanoseconds {
                let isFound = object.isForClientsAlone(pidfd: process.descriptor, process: process.pid)
                takesClientsAlone = (isFound, epoll, now)
            }
            guard takesClientsAlone.found else { return false }
        }
        return object.awaitsClient(in: &call, pidfd: process.descriptor, process: process.pid)
    }

    /// The identities of the loop's sockets; nil: they cannot be read, or no more readings are allowed.
    mutating func sockets(of object: WaitObject, at now: UInt64, _ readingsLeft: inout Int) -> [UInt64]? {
        if let sockets, sockets.epoll == object.epoll, now < sockets.nanoseconds &+ Self.socketsNanoseconds {
            return sockets.found
        }
        guard readingsLeft > 0 else { return nil }
        readingsLeft -= 1
        guard let found = object.sockets(of: process.pid) else { return nil }
        sockets = (found, object.epoll, now)
        return found
    }

    /// Whether the loop has listening sockets that its only thread has reported once, and must ask for again.
    mutating func hasOneShotListeners(of epoll: Int32?, at now: UInt64) -> Bool {
        guard let epoll else { return false }
        if epoll != hasOneShots.epoll || now >= hasOneShots.nanoseconds &+ Self.socketsNanoseconds {
            hasOneShots = (clr_has_one_shot_listeners(process.descriptor, process.pid, epoll) != 0, epoll, now)
        }
        return hasOneShots.found
    }

    /// Whether a loop of a Java VM has no channel, so that only the program's own threads wait for it, through its wake-up.
    ///
    /// The stack position of a sleeping Java thread does not show whether it has left its loop's function: interpreted and
    /// compiled frames of one method differ in size. Pools whose jobs run loops while there are connections (Apache MINA) rest
    /// outside these loops.
    mutating func hasNoChannel(of epoll: Int32?, at now: UInt64) -> Bool {
        guard let epoll else { return false }
        if epoll != channels.epoll || now >= channels.nanoseconds &+ Self.clientsNanoseconds {
            channels = (clr_has_wake_ups_alone(process.pid, epoll) != 0, epoll, now)
        }
        return channels.none
    }
}
