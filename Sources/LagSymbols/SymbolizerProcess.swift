internal import CLagBeacon
internal import CLagRemote
internal import Glibc
internal import LagDiagnosis
internal import LagModel
internal import Synchronization

/// A running `llvm-symbolizer` that answers queries until it is ended.
///
/// The child's stdin and stdout are one socket, so that a write to a dead child is an error (`MSG_NOSIGNAL`) and never
/// SIGPIPE in the host. It inherits no other descriptor, no blocked and no ignored signal, no environment (which could send
/// it to a network), and it is in its own process group, where a terminal's Ctrl-C does not reach it. It is
/// signalled and waited for by a pidfd, never by a process ID that may have been reused. Its exit raises
/// SIGCHLD in the host, as for any child.
///
/// One exchange at a time; others wait.
final class SymbolizerProcess: Sendable {
    /// The memory that a child may allocate; mapped files are not counted. The toolchain's symbolizer takes about 25 MB for a
    /// program of 24 MB.
    static let maximumDataBytes: UInt64 = 512 << 20
    /// How long a killed child may take to exit. One that waits for a disk can take longer, and is reaped later.
    private static let endMilliseconds: Int32 = 1000
    private static let readBytes = 64 << 10

    enum Ending: Sendable {
        case complete
        case timedOut
        /// The child has exited, or sent an invalid answer.
        case broken
    }

    private struct Child: Sendable {
        let pidfd: Int32
        let socket: Int32
    }

    /// Nil after ``end()``.
    private let child: Mutex<Child?>
    let pid: Int32

    /// Killed children that did not exit in time.
    private static let unreaped = Mutex<[Int32]>([])

    private init(pid: Int32, pidfd: Int32, socket: Int32) {
        self.pid = pid
        child = Mutex(Child(pidfd: pidfd, socket: socket))
    }

    deinit { end() }

    /// Starts `program`; nil if the system refuses.
    static func start(_ program: String) -> SymbolizerProcess? {
        reapLate()
        var ends: (Int32, Int32) = (-1, -1)
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let made = withUnsafeMutableBytes(of: &ends) {
            socketpair(AF_UNIX, type, 0, $0.baseAddress?.assumingMemoryBound(to: Int32.self))
        }
        guard made == 0 else { return nil }
        defer { close(ends.1) }
        guard let pid = spawn(program, socket: ends.1) else {
            close(ends.0)
            return nil
        }
        let pidfd = clr_pidfd_open(pid)
        guard pidfd >= 0 else {
            // A kernel or a container without pidfds. The child was just started and not waited for, so its process ID is still
            // valid.
            close(ends.0)
            kill(-pid, SIGKILL)
            while waitpid(pid, nil, 0) < 0, errno == EINTR {}
            return nil
        }
        _ = clr_limit_data(pid, maximumDataBytes)
        return SymbolizerProcess(pid: pid, pidfd: pidfd, socket: ends.0)
    }

    private static func spawn(_ program: String, socket: Int32) -> Int32? {
        var actions = posix_spawn_file_actions_t()
        guard posix_spawn_file_actions_init(&actions) == 0 else { return nil }
        defer { posix_spawn_file_actions_destroy(&actions) }
        guard posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO) == 0,
            posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO) == 0,
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0,
            clr_spawn_close_from(&actions, STDERR_FILENO + 1) == 0
        else { return nil }

        var attributes = posix_spawnattr_t()
        guard posix_spawnattr_init(&attributes) == 0 else { return nil }
        defer { posix_spawnattr_destroy(&attributes) }
        var all = sigset_t()
        var none = sigset_t()
        sigfillset(&all)
        sigemptyset(&none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP
        posix_spawnattr_setflags(&attributes, Int16(flags))

        // Mangled names, because it cannot demangle Swift's.
        let words = [program, "--no-demangle", "--addresses", "--functions=linkage", "--inlines"]
        var arguments = words.map { strdup($0) } + [nil]
        var environment = [strdup("LC_ALL=C"), strdup("PATH=/usr/bin:/bin"), nil]
        defer { for text in arguments + environment { free(text) } }
        var pid: Int32 = 0
        return posix_spawn(&pid, program, &actions, &attributes, &arguments, &environment) == 0 ? pid : nil
    }

    /// Queries in progress and their replies.
    struct Exchange: Sendable {
        fileprivate var unsent: ArraySlice<UInt8>
        fileprivate(set) var replies: SymbolizerReplies

        init(_ text: [UInt8], addresses: [UInt64]) {
            unsent = text[...]
            replies = SymbolizerReplies(addresses: addresses)
        }
    }

    /// How long a shortened wait may still take.
    private static let pollIntervalNanoseconds: UInt64 = 10_000_000

    /// Sends queries and receives replies until all have arrived, or until the deadline on CLOCK_MONOTONIC, or the limit.
    ///
    /// After `.timedOut` the exchange can be continued. After `.broken` the child must be ended: its further output belongs to no
    /// query.
    func advance(_ exchange: inout Exchange, deadline: UInt64, _ limit: SharedDeadline) -> Ending {
        child.withLock { child in
            guard let socket = child?.socket else { return .broken }
            while !exchange.replies.isComplete {
                let now = clb_now_ns()
                let end = min(deadline, limit.nanoseconds)
                guard now < end else { return .timedOut }
                var poller = pollfd(fd: socket, events: Int16(exchange.unsent.isEmpty ? POLLIN : POLLIN | POLLOUT), revents: 0)
                // Rounded up, so that a deadline in less than a millisecond does not cause a busy loop.
                let wait = min(end - now, Self.pollIntervalNanoseconds)
                let ready = poll(&poller, 1, Int32((wait + 999_999) / 1_000_000))
                if ready < 0, errno != EINTR { return .broken }
                guard ready > 0 else { continue }
                guard Self.send(&exchange.unsent, to: socket), Self.receive(from: socket, into: &exchange.replies) else {
                    return .broken
                }
            }
            return .complete
        }
    }

    /// False if the child accepts no more.
    private static func send(_ unsent: inout ArraySlice<UInt8>, to socket: Int32) -> Bool {
        guard !unsent.isEmpty else { return true }
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        let count = unsent.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, flags) }
        if count > 0 { unsent = unsent.dropFirst(count) }
        return count > 0 || errno == EAGAIN || errno == EINTR
    }

    /// False at the end, and after an invalid answer.
    private static func receive(from socket: Int32, into replies: inout SymbolizerReplies) -> Bool {
        var count = 0
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: readBytes) { buffer, initialized in
            count = recv(socket, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            if count < 0 { failure = errno }
            initialized = max(0, count)
        }
        if count > 0 { return replies.take(bytes) }
        return count < 0 && (failure == EAGAIN || failure == EINTR)
    }

    /// Kills the child and its children, and waits for it. Nothing remains, unless the child waits for a disk. May be called
    /// again.
    func end() {
        guard let child = child.withLock({ $0.take() }) else { return }
        close(child.socket)
        // The children of a wrapper script are in its group. Before the wait, because until then the group's ID is not reused.
        _ = clr_pidfd_kill_group(child.pidfd, pid, SIGKILL)
        var poller = pollfd(fd: child.pidfd, events: Int16(POLLIN), revents: 0)
        while poll(&poller, 1, Self.endMilliseconds) < 0, errno == EINTR {}
        if clr_pidfd_reap(child.pidfd) == 0 {
            Self.unreaped.withLock { $0.append(child.pidfd) }
        } else {
            close(child.pidfd)
        }
    }

    private static func reapLate() {
        unreaped.withLock { late in
            late.removeAll { pidfd in
                guard clr_pidfd_reap(pidfd) != 0 else { return false }
                close(pidfd)
                return true
            }
        }
    }
}
