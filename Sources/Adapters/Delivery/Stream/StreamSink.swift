internal import Glibc
public import LagActivity
internal import LagModel
public import LagOutput
internal import Synchronization

/// Sends lines to a reader behind a Unix or a TCP socket, each terminated by its newline.
///
/// The first line makes the connection, so program and reader may start in any order. Lines for a missing or disconnected reader
/// are lost and counted. Later lines retry the connection, after 100 ms at first and 10 s at most; between the tries a line costs
/// nothing except its count. A host's name is looked up for each connection, so a service that moves is followed; a failed lookup
/// counts as a missing reader. A partly sent line is finished before another one, or abandoned with its connection: a connection
/// never carries a line after a partial one. An abandoned line is sent completely on the next connection if it is still the
/// current one; otherwise it is counted.
///
/// A line counts as written when the kernel has it: what a reader had not read when it died is lost without a count, as with
/// every stream without receipts. Data from the reader is ignored, but a TCP reader must keep its sending half open: if it closes
/// that, it looks disconnected, and the next line uses a new connection. There is no SIGPIPE, and no wait beyond the time-out for
/// each line.
public final class StreamSink: RecordSink {
    private struct State: ~Copyable {
        var line: LineDescriptor?
        /// The line owns it.
        var descriptor: Int32 = -1
        var delay: RetryDelay
        /// Why the last attempt to connect failed.
        var failure: SinkError?
        var abandoned: UInt64 = 0
        var isClosed = false
    }

    /// The reader's address.
    enum Place: Sendable {
        case addresses([SocketEndpoint])
        case host(HostLookup)
    }

    public let name: String
    private let place: Place
    private let isUnix: Bool
    private let timeoutNanoseconds: UInt64
    private let limit = SharedDeadline()
    private let state: Mutex<State>

    /// Neither looks up nor connects yet.
    /// - Parameter timeout: how long a line waits for a lookup, a connection and a slow reader, together.
    /// - Throws: ``SinkError/Reason/cannotOpen`` for an invalid address.
    public convenience init(_ address: StreamAddress, timeout: Duration = DescriptorSink.defaultTimeout) throws(SinkError) {
        try self.init(address, timeout: timeout, delay: RetryDelay())
    }

    convenience init(_ address: StreamAddress, timeout: Duration, delay: RetryDelay) throws(SinkError) {
        self.init(name: "\(address)", try Self.place(address), timeout: timeout, delay: delay)
    }

    init(name: String, _ place: Place, timeout: Duration, delay: RetryDelay = RetryDelay()) {
        self.name = name
        self.place = place
        isUnix = if case .addresses(let addresses) = place { addresses.first?.family == AF_UNIX } else { false }
        timeoutNanoseconds = timeout.clampedNanoseconds
        state = Mutex(State(delay: delay))
    }

    private static func place(_ address: StreamAddress) throws(SinkError) -> Place {
        let name = "\(address)"
        switch address {
        case .unix(let path):
            do throws(SinkError) {
                return .addresses([try SocketEndpoint(unixPath: path)])
            } catch {
                throw SinkError(.cannotOpen, path: name, code: error.code)
            }
        case .tcp(let host, let port):
            guard (1...65_535).contains(port), !host.isEmpty, !host.utf8.contains(0) else {
                throw SinkError(.cannotOpen, path: name, code: EINVAL)
            }
            let numbers = SocketEndpoint.all(ofHost: host, port: port, isNumber: true)
            if !numbers.isEmpty { return .addresses(numbers) }
            guard SocketEndpoint.isHostName(host) else {
                let detail = "\"\(host)\" is neither a host name nor an address"
                throw SinkError(.cannotOpen, path: name, code: EINVAL, detail: detail)
            }
            return .host(HostLookup { SocketEndpoint.all(ofHost: host, port: port) })
        }
    }

    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        let deadline = WriteDeadline(timeoutNanoseconds: timeoutNanoseconds, limit: limit)
        try state.withLock { state throws(SinkError) in
            guard !state.isClosed else { throw SinkError(.closed, path: name) }
            if state.line != nil, isClosedByPeer(state.descriptor) { Self.disconnect(&state) }
            let isFresh = state.line == nil
            if isFresh { try connect(&state, deadline) }
            do throws(SinkError) {
                try send(line, &state, deadline)
            } catch {
                // On an existing connection, the reader may have been a different one.
                guard error.reason != .tooSlow, !isFresh else { throw error }
                try connect(&state, deadline)
                try send(line, &state, deadline)
            }
        }
    }

    /// The next line reconnects, at once.
    public func reopen() throws(SinkError) {
        state.withLock { state in
            Self.disconnect(&state)
            state.delay.reset()
        }
    }

    public func resume() throws(SinkError) { state.withLock { $0.isClosed = false } }

    public func close() {
        let deadline = WriteDeadline(timeoutNanoseconds: timeoutNanoseconds, limit: limit)
        state.withLock { state in
            if state.line != nil { try? state.line!.finishRest(path: name, deadline: deadline) }
            Self.disconnect(&state)
            state.delay.reset()
            state.isClosed = true
        }
    }

    public func limitWaiting(until deadline: MonotonicTime?) { limit.nanoseconds = deadline?.nanoseconds ?? .max }

    public func takeAbandonedLines() -> UInt64 {
        state.withLock { state in
            defer { state.abandoned = 0 }
            return state.abandoned
        }
    }

    /// A connection with any error except slowness is closed.
    private func send(_ line: UnsafeRawBufferPointer, _ state: inout State, _ deadline: WriteDeadline) throws(SinkError) {
        do throws(SinkError) {
            try state.line!.write(line, path: name, deadline: deadline)
        } catch {
            if error.reason != .tooSlow { Self.disconnect(&state) }
            throw error
        }
    }

    private static func disconnect(_ state: inout State) {
        guard state.line != nil else { return }
        state.line!.abandonRest()
        state.abandoned += state.line!.takeAbandoned()
        state.line = nil
    }

    private func connect(_ state: inout State, _ deadline: WriteDeadline) throws(SinkError) {
        guard state.delay.allows(at: WriteDeadline.now) else { throw state.failure ?? SinkError(.readerGone, path: name) }
        do throws(SinkError) {
            let descriptor = try connect(try addresses(deadline), deadline)
            state.descriptor = descriptor
            state.line = LineDescriptor(owning: descriptor, kind: .socket)
            state.delay.reset()
        } catch {
            state.delay.recordFailure(at: WriteDeadline.now)
            state.failure = error
            throw error
        }
    }

    private var noConnection: SinkError { SinkError(.tooSlow, path: name, detail: "no connection within the time-out") }

    private func addresses(_ deadline: WriteDeadline) throws(SinkError) -> [SocketEndpoint] {
        switch place {
        case .addresses(let addresses): return addresses
        case .host(let lookup):
            guard let addresses = lookup.addresses(deadline) else { throw noConnection }
            guard !addresses.isEmpty else {
                throw SinkError(.readerGone, path: name, code: ENXIO, detail: "no address of its host is known")
            }
            return addresses
        }
    }

    private func connect(_ addresses: [SocketEndpoint], _ deadline: WriteDeadline) throws(SinkError) -> Int32 {
        var failure = SinkError(.readerGone, path: name)
        for (index, address) in addresses.enumerated() {
            do throws(SinkError) {
                // An address that does not answer must not use up the time of the others.
                return try connect(address, deadline.share(of: addresses.count - index))
            } catch {
                failure = error
            }
        }
        throw failure
    }

    private func connect(_ address: SocketEndpoint, _ deadline: WriteDeadline) throws(SinkError) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.family, type, 0)
        guard descriptor >= 0 else { throw SinkError(.readerGone, path: name, code: errno) }
        var code = address.connect(descriptor) == 0 ? 0 : errno
        if code == EINPROGRESS {
            guard deadline.waitUntilWritable(descriptor) else {
                _ = Glibc.close(descriptor)
                throw noConnection
            }
            var size = socklen_t(MemoryLayout<Int32>.size)
            if getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) != 0 { code = errno }
        }
        guard code == 0 else {
            _ = Glibc.close(descriptor)
            // EAGAIN: a Unix socket whose queue of connections is full.
            if code == EAGAIN { throw SinkError(.tooSlow, path: name, code: code) }
            let failure = SinkError(.readerGone, path: name, code: code)
            throw SinkError(.readerGone, path: name, code: code, detail: "no connection: \(failure.codeText)")
        }
        if address.family != AF_UNIX { Self.limitUnacknowledgedTime(descriptor) }
        return descriptor
    }

    /// Otherwise it would take a quarter of an hour to notice that a reader's host has vanished (tcp(7), `TCP_USER_TIMEOUT`).
    private static func limitUnacknowledgedTime(_ descriptor: Int32) {
        var milliseconds: UInt32 = 30_000
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, socklen_t(MemoryLayout<UInt32>.size))
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Whether the reader closed its end. The first `send` to such a TCP reader still succeeds, and the line would be lost
    /// without a count. Its data is read and discarded, so that the buffer cannot fill up. A TCP reader that closed only its
    /// sending half looks the same, and is disconnected, too; with a Unix socket the two can be distinguished.
    private func isClosedByPeer(_ descriptor: Int32) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        for _ in 0..<64 {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count == 0 { return !isUnix || Self.isOver(descriptor) }
            if count < 0, errno != EINTR { return errno != EAGAIN }
        }
        return false
    }

    /// Whether both halves are closed (poll(2), `POLLHUP`).
    private static func isOver(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLHUP | POLLERR) != 0
    }
}
