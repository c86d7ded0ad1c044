internal import CLagLinux
internal import Glibc
internal import LagModel
internal import LagOutput

/// Looks up the addresses of a host, on a separate thread: getaddrinfo(3) can wait many seconds for a name server, and has no
/// time-out.
///
/// One query at a time. An answer after the time-out is kept for a call within the next ten seconds, unless the host does not
/// exist.
final class HostLookup: Sendable {
    private enum State {
        case idle
        case asking
        case answered([SocketEndpoint], atNanoseconds: UInt64)
    }

    /// The state that a call finds.
    private enum Beginning {
        case answer([SocketEndpoint])
        /// An earlier call has a query in progress.
        case asked
        case unasked
    }

    /// Name service modules run on it.
    private static let stackBytes = 512 * 1024
    private static let longestPauseMicroseconds: UInt32 = 20_000
    /// Services may move to other addresses.
    private static let keptNanoseconds: UInt64 = 10_000_000_000

    private let resolve: @Sendable () -> [SocketEndpoint]
    private let state = PthreadMutex(State.idle)

    /// - Parameter resolve: may block; returns an empty array if the host is not known.
    init(_ resolve: @escaping @Sendable () -> [SocketEndpoint]) { self.resolve = resolve }

    /// - Returns: empty if the host is not known; nil if there is no answer before the deadline.
    func addresses(_ deadline: WriteDeadline) -> [SocketEndpoint]? {
        switch begin(at: WriteDeadline.now) {
        case .answer(let addresses): return addresses
        case .asked: break
        case .unasked: guard ask() else { return nil }
        }
        var pauseMicroseconds: UInt32 = 100
        while true {
            if let answer = takeAnswer() { return answer }
            if deadline.isOver { return nil }
            usleep(pauseMicroseconds)
            pauseMicroseconds = min(2 * pauseMicroseconds, Self.longestPauseMicroseconds)
        }
    }

    private func begin(at now: UInt64) -> Beginning {
        state.withLock { state in
            switch state {
            case .answered(let addresses, let time) where !addresses.isEmpty && now <= time.saturatingSum(Self.keptNanoseconds):
                state = .idle
                return .answer(addresses)
            case .asking: return .asked
            case .idle, .answered:
                state = .asking
                return .unasked
            }
        }
    }

    private func takeAnswer() -> [SocketEndpoint]? {
        state.withLock { state in
            guard case .answered(let addresses, _) = state else { return nil }
            state = .idle
            return addresses
        }
    }

    /// False: the system refuses to create a thread.
    private func ask() -> Bool {
        let retained = Unmanaged.passRetained(self)
        var thread = pthread_t()
        let error = cll_thread_create(
            &thread,
            Self.stackBytes,
            { raw in
                let lookup = Unmanaged<HostLookup>.fromOpaque(raw!).takeRetainedValue()
                _ = cll_thread_set_name(pthread_self(), "lag-lookup")
                let addresses = lookup.resolve()
                let now = WriteDeadline.now
                lookup.state.withLock { $0 = .answered(addresses, atNanoseconds: now) }
            },
            retained.toOpaque()
        )
        guard error == 0 else {
            retained.release()
            state.withLock { $0 = .idle }
            return false
        }
        pthread_detach(thread)
        return true
    }
}
