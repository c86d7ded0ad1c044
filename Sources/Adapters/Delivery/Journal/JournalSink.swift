internal import CLagLinux
internal import Glibc
public import LagActivity
internal import LagModel
public import LagOutput
internal import Synchronization

/// Sends lines to systemd's journal, by its native protocol: one entry per line, complete or not at all.
///
/// `MESSAGE` is the line's message, `PRIORITY` its severity, `LAGMONITOR_RECORD` the line itself (`journalctl -o json --all`:
/// without `--all`, a value longer than 4096 bytes is null); `LAGMONITOR_CAUSE`, `LAGMONITOR_FINGERPRINT` and others are for
/// queries such as `journalctl LAGMONITOR_CAUSE=lock`. An entry that is too large for a datagram is sent as a sealed memory file
/// (`memfd_create`). After a restart of the journal, the next line reconnects. The sink waits up to the time-out for a journal
/// that does not keep up.
public final class JournalSink: RecordSink {
    /// journald's socket.
    public static let defaultPath = DeliveryParts.journalPath

    private struct State: ~Copyable {
        var socket: Int32 = -1
        var isClosed = false
        var message = JournalMessage()
    }

    public let name: String
    private let path: String
    private let identifier: String
    private let timeoutNanoseconds: UInt64
    private let limit = SharedDeadline()
    private let state: Mutex<State>

    /// - Parameters:
    ///   - path: the path of the socket.
    ///   - identifier: `SYSLOG_IDENTIFIER`; the name of the executable when nil.
    ///   - timeout: how long a line waits for a slow journal.
    /// - Throws: ``SinkError/Reason/cannotOpen`` if no process listens there.
    public init(
        path: String = JournalSink.defaultPath,
        identifier: String? = nil,
        timeout: Duration = DescriptorSink.defaultTimeout
    ) throws(SinkError) {
        self.path = path
        name = path == Self.defaultPath ? "journald" : "journald:\(path)"
        self.identifier = identifier ?? ProcessContext.current().processName
        timeoutNanoseconds = timeout.clampedNanoseconds
        var initial = State()
        initial.socket = try Self.connect(path, name: name)
        state = Mutex(initial)
    }

    deinit { close() }

    /// Without facts: the line is the message.
    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        let text = String(decoding: line.last == UInt8(ascii: "\n") ? line.dropLast() : line[...], as: UTF8.self)
        try write(line, about: LineFacts(event: "line", severity: .warning, message: text))
    }

    public func write(_ line: UnsafeRawBufferPointer, about facts: LineFacts) throws(SinkError) {
        let deadline = WriteDeadline(timeoutNanoseconds: timeoutNanoseconds, limit: limit)
        try state.withLock { state throws(SinkError) in
            guard !state.isClosed else { throw SinkError(.closed, path: name) }
            state.message.reset()
            state.message.add(line, facts, identifier: identifier)
            let isFresh = state.socket < 0
            if isFresh { state.socket = try Self.connect(path, name: name) }
            do throws(SinkError) {
                try Self.send(state.message.bytes, to: state.socket, name: name, deadline)
            } catch {
                guard error.reason == .readerGone else { throw error }
                Self.disconnect(&state)
                guard !isFresh else { throw error }
                // The journal was restarted: there is a new socket at the path.
                state.socket = try Self.connect(path, name: name)
                try Self.send(state.message.bytes, to: state.socket, name: name, deadline)
            }
        }
    }

    public func reopen() throws(SinkError) {
        try state.withLock { state throws(SinkError) in
            guard !state.isClosed else { throw SinkError(.closed, path: name) }
            Self.disconnect(&state)
            state.socket = try Self.connect(path, name: name)
        }
    }

    public func resume() throws(SinkError) {
        try state.withLock { state throws(SinkError) in
            guard state.isClosed else { return }
            state.socket = try Self.connect(path, name: name)
            state.isClosed = false
        }
    }

    public func close() {
        state.withLock { state in
            Self.disconnect(&state)
            state.isClosed = true
        }
    }

    public func limitWaiting(until deadline: MonotonicTime?) { limit.nanoseconds = deadline?.nanoseconds ?? .max }

    private static func disconnect(_ state: inout State) {
        if state.socket >= 0 { _ = Glibc.close(state.socket) }
        state.socket = -1
    }

    /// Connected, so that `poll` shows when the journal's queue has space (unix(7): an unconnected socket is always writable).
    private static func connect(_ path: String, name: String) throws(SinkError) -> Int32 {
        let address: SocketEndpoint
        do throws(SinkError) { address = try SocketEndpoint(unixPath: path) } catch {
            throw SinkError(.cannotOpen, path: name, code: error.code)
        }
        let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw SinkError(.cannotOpen, path: name, code: errno) }
        guard address.connect(descriptor) == 0 else {
            let error = SinkError(.cannotOpen, path: name, code: errno)
            _ = Glibc.close(descriptor)
            // The default socket's path is not part of the name.
            guard name == "journald" else { throw error }
            throw SinkError(.cannotOpen, path: name, code: error.code, detail: "\(path): \(error.codeText)")
        }
        return descriptor
    }

    private static func send(_ bytes: [UInt8], to socket: Int32, name: String, _ deadline: WriteDeadline) throws(SinkError) {
        try send(to: socket, name: name, deadline) {
            bytes.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) }
        } tooLong: { () throws(SinkError) in
            let memory = bytes.withUnsafeBytes { cll_sealed_memory($0.baseAddress, $0.count) }
            guard memory >= 0 else { throw SinkError(.writeFailed, path: name, code: errno) }
            defer { _ = Glibc.close(memory) }
            try send(to: socket, name: name, deadline) {
                cll_send_descriptor(socket, memory)
            } tooLong: { () throws(SinkError) in
                throw SinkError(.writeFailed, path: name, code: EMSGSIZE)
            }
        }
    }

    private static func send(
        to socket: Int32,
        name: String,
        _ deadline: WriteDeadline,
        _ attempt: () -> Int,
        tooLong: () throws(SinkError) -> Void
    ) throws(SinkError) {
        while attempt() < 0 {
            let code = errno
            switch code {
            case EINTR: continue
            case EAGAIN: guard deadline.waitUntilWritable(socket) else { throw SinkError(.tooSlow, path: name) }
            case EMSGSIZE, ENOBUFS: return try tooLong()
            case ECONNREFUSED, ECONNRESET, ENOTCONN, EPIPE, ENOENT: throw SinkError(.readerGone, path: name, code: code)
            default: throw SinkError(.writeFailed, path: name, code: code)
            }
        }
    }
}
