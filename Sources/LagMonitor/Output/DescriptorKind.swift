internal import Glibc

/// How to write to a descriptor without blocking for long, without SIGPIPE, and without changing anything that other holders of
/// the same file would notice.
package enum DescriptorKind: Sendable {
    /// A regular file: `write`; a disk has no reader to wait for.
    case file
    /// A socket: `send` with `MSG_DONTWAIT` and `MSG_NOSIGNAL`.
    case socket
    /// A pipe or device in non-blocking mode: `write`.
    case nonBlocking
    /// A pipe or device in blocking mode that could not be opened a second time: `poll`, then at most `PIPE_BUF` bytes, which a
    /// writable pipe accepts at once (pipe(7)).
    case blocking

    /// `PIPE_BUF` of Linux, from `linux/limits.h`.
    private static let pipeBufferBytes = 4096

    /// One attempt. `count` 0 means failure with `code`; EAGAIN if it would block.
    func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> (count: Int, code: Int32) {
        var (count, code): (Int, Int32)
        switch self {
        case .file, .nonBlocking:
            (count, code) = WriteSignalGuard.withoutSignals {
                let count = Glibc.write(descriptor, bytes.baseAddress, bytes.count)
                return (count, errno)
            }
        case .socket:
            count = send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            code = errno
        case .blocking:
            guard Self.isWritable(descriptor, timeoutMilliseconds: 0) else { return (0, EAGAIN) }
            (count, code) = WriteSignalGuard.withoutSignals {
                let count = Glibc.write(descriptor, bytes.baseAddress, min(bytes.count, Self.pipeBufferBytes))
                return (count, errno)
            }
        }
        if count > 0 { return (count, 0) }
        // No system writes nothing and reports no error for a count above zero; if one does, do not retry forever.
        if count == 0 { code = EIO }
        return (0, code == EWOULDBLOCK ? EAGAIN : code)
    }

    /// Whether a write would not block; also true if it would fail at once.
    static func isWritable(_ descriptor: Int32, timeoutMilliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&entry, 1, timeoutMilliseconds) > 0
    }
}
