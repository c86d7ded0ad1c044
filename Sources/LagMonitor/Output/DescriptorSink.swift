internal import Glibc
public import LagActivity
internal import LagModel

/// Lines to a descriptor that other code opened: stdout, a pipe, a socket.
///
/// The sink works on a private descriptor: the original may be closed or replaced without harm, and does not change, not even its
/// blocking mode. A pipe or a device is opened a second time through `/proc/self/fd` in non-blocking mode; a socket is written
/// with `MSG_DONTWAIT`. If neither is possible, the sink polls and writes at most `PIPE_BUF` bytes at a time.
///
/// A reader that closed its end causes ``SinkError/Reason/readerGone``; SIGPIPE never reaches the host (see `WriteSignalGuard`).
/// The sink waits for a slow reader up to the time-out for each line, then throws ``SinkError/Reason/tooSlow``. The reader sees
/// the end of the stream only when this sink is closed, too.
public final class DescriptorSink: RecordSink {
    /// How long a line waits for a slow reader by default. One second is less than the two within which a shutdown has to finish.
    public static let defaultTimeout: Duration = .seconds(1)

    private struct State: ~Copyable {
        var line: LineDescriptor?
        var abandoned: UInt64 = 0
    }

    /// What a descriptor's number refers to; the same number may refer to something else later.
    private struct Identity: Equatable {
        let device: dev_t
        let inode: ino_t

        init?(_ descriptor: Int32) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return nil }
            (device, inode) = (status.st_dev, status.st_ino)
        }
    }

    public let name: String
    private let original: Int32
    private let identity: Identity?
    private let opensAgain: Bool
    private let timeoutNanoseconds: UInt64
    private let limit = SharedDeadline()
    private let state: PthreadMutex<State>

    /// - Parameters:
    ///   - descriptor: open for writing. It still belongs to the caller.
    ///   - name: for errors: `stdout`.
    ///   - timeout: how long a line waits for a slow reader.
    /// - Throws: ``SinkError/Reason/cannotOpen`` if `descriptor` is not open or not open for writing.
    public convenience init(
        descriptor: Int32,
        name: String,
        timeout: Duration = DescriptorSink.defaultTimeout
    ) throws(SinkError) {
        try self.init(descriptor: descriptor, name: name, timeout: timeout, opensAgain: true)
    }

    /// - Parameter opensAgain: false: behave as if `/proc` were unavailable.
    package init(descriptor: Int32, name: String, timeout: Duration, opensAgain: Bool) throws(SinkError) {
        self.name = name
        timeoutNanoseconds = timeout.clampedNanoseconds
        self.opensAgain = opensAgain
        original = descriptor
        identity = Identity(descriptor)
        state = PthreadMutex(State(line: try Self.open(descriptor, name: name, opensAgain: opensAgain)))
    }

    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        let deadline = WriteDeadline(timeoutNanoseconds: timeoutNanoseconds, limit: limit)
        try state.withLock { state throws(SinkError) in
            guard state.line != nil else { throw SinkError(.closed, path: name) }
            try state.line!.write(line, path: name, deadline: deadline)
        }
    }

    /// After ``close()``: works if the original descriptor is still open on the same file, pipe or socket.
    public func resume() throws(SinkError) {
        try state.withLock { state throws(SinkError) in
            guard state.line == nil else { return }
            guard Identity(original) == identity else { throw SinkError(.cannotOpen, path: name, code: EBADF) }
            state.line = try Self.open(original, name: name, opensAgain: opensAgain)
        }
    }

    public func close() {
        let deadline = WriteDeadline(timeoutNanoseconds: timeoutNanoseconds, limit: limit)
        state.withLock { state in
            guard state.line != nil else { return }
            try? state.line!.finishRest(path: name, deadline: deadline)
            state.line!.abandonRest()
            state.abandoned += state.line!.takeAbandoned()
            state.line = nil
        }
    }

    public func limitWaiting(until deadline: MonotonicTime?) { limit.nanoseconds = deadline?.nanoseconds ?? .max }

    public func takeAbandonedLines() -> UInt64 {
        state.withLock { state in
            defer { state.abandoned = 0 }
            return state.abandoned + (state.line?.takeAbandoned() ?? 0)
        }
    }

    private static func open(_ descriptor: Int32, name: String, opensAgain: Bool) throws(SinkError) -> LineDescriptor {
        var status = stat()
        let flags = fcntl(descriptor, F_GETFL)
        guard flags >= 0, fstat(descriptor, &status) == 0 else { throw SinkError(.cannotOpen, path: name, code: errno) }
        guard flags & O_ACCMODE != O_RDONLY else { throw SinkError(.cannotOpen, path: name, code: EBADF) }
        let type = status.st_mode & S_IFMT
        if opensAgain, type == S_IFIFO || type == S_IFCHR {
            let again = Glibc.open("/proc/self/fd/\(descriptor)", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
            if again >= 0 { return LineDescriptor(owning: again, kind: .nonBlocking) }
        }
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw SinkError(.cannotOpen, path: name, code: errno) }
        let kind: DescriptorKind =
            switch type {
            case S_IFREG: .file
            case S_IFSOCK: .socket
            default: flags & O_NONBLOCK != 0 ? .nonBlocking : .blocking
            }
        return LineDescriptor(owning: copy, kind: kind)
    }
}
