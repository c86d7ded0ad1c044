internal import Glibc

/// How to write to a descriptor without blocking for long, without SIGPIPE, and without changing anything that other
/// holders of the same file would notice.
enum DescriptorKind: Sendable {
    /// A regular file: `write`; a disk has no reader to wait for.
    case file
    /// A socket: `send` with `MSG_DONTWAIT` and `MSG_NOSIGNAL`.
    case socket
    /// A pipe or device in non-blocking mode: `write`.
    case nonBlocking
    /// A pipe or device in blocking mode that could not be opened a second time: `poll`, then at most `PIPE_BUF` bytes,
    /// which a writable pipe takes at once (pipe(7)).
    case blocking

    /// `PIPE_BUF` of Linux, from `linux/limits.h`.
    private static let pipeBufferBytes = 4096

    /// One attempt. `count` 0 means failure with `code`; EAGAIN where it would block.
    func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> (count: Int, code: Int32) {
        var count: Int
        var code: Int32
        switch self {
        case .file:
            count = Glibc.write(descriptor, bytes.baseAddress, bytes.count)
            code = errno
        case .socket:
            count = send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            code = errno
        case .nonBlocking:
            (count, code) = BrokenPipeGuard.withoutSignal {
                let count = Glibc.write(descriptor, bytes.baseAddress, bytes.count)
                return (count, errno)
            }
        case .blocking:
            guard Self.isWritable(descriptor, timeoutMilliseconds: 0) else { return (0, EAGAIN) }
            (count, code) = BrokenPipeGuard.withoutSignal {
                let count = Glibc.write(descriptor, bytes.baseAddress, min(bytes.count, Self.pipeBufferBytes))
                return (count, errno)
            }
        }
        if count > 0 { return (count, 0) }
        // No system writes nothing and reports no error for a count above zero; if one does, it is not tried for ever.
        if count == 0 { code = EIO }
        return (0, code == EWOULDBLOCK ? EAGAIN : code)
    }

    /// Whether a write would not block; true also when it would fail at once.
    static func isWritable(_ descriptor: Int32, timeoutMilliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&entry, 1, timeoutMilliseconds) > 0
    }
}

/// Keeps SIGPIPE from the host.
///
/// A write to a pipe without a reader sends SIGPIPE to the *writing thread* (signal(7)); its default is the end of the
/// process. The signal is blocked on this thread for the call, taken from the thread's pending set if the call
/// raised it, and the mask restored. Process-wide dispositions stay as the host set them, and a SIGPIPE that was pending
/// before stays pending. So nobody has to prepare anything; a reporter thread that blocks SIGPIPE anyway (as ours
/// does) is equally served. Cost: two calls of `pthread_sigmask` and one `sigpending` a write.
enum BrokenPipeGuard {
    static func withoutSignal(_ body: () -> (count: Int, code: Int32)) -> (count: Int, code: Int32) {
        var pipeSignal = sigset_t()
        sigemptyset(&pipeSignal)
        sigaddset(&pipeSignal, SIGPIPE)
        var before = sigset_t()
        var pending = sigset_t()
        guard pthread_sigmask(SIG_BLOCK, &pipeSignal, &before) == 0 else { return (-1, EINVAL) }
        sigpending(&pending)
        let wasPending = sigismember(&pending, SIGPIPE) == 1

        let outcome = body()

        if outcome.count < 0, outcome.code == EPIPE, !wasPending {
            var noWait = timespec()
            while sigtimedwait(&pipeSignal, nil, &noWait) < 0, errno == EINTR {}
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
        return outcome
    }
}
