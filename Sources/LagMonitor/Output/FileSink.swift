internal import Glibc
public import LagActivity
internal import LagModel

/// Lines appended to a file: one `write` per line, under `O_APPEND`.
///
/// Rotation: before each line the path is looked up (one `stat`, about a microsecond). If it leads to another file or to none,
/// the file is opened again, and created if missing. ``reopen()`` does the same on request (SIGHUP). Truncation in place
/// (`copytruncate`) leaves no hole because of `O_APPEND`. If the new file cannot be opened, lines still go to the old one, where
/// they are not lost, and the next line tries again; an old file that was removed gets no more lines.
///
/// A file that does not end in a newline gets one first, so that the first line does not continue another program's incomplete
/// line. There is never a header. Use one file per process: two processes can damage each other's lines if a write is short.
///
/// With a ``FileRotation`` the file does not grow beyond a size: it becomes `path.1`, `path.1` becomes `path.2`, and so on. If
/// the path is a symbolic link, the link stays, and the files are in the folder to which it leads. If several processes write the
/// file, only one at a time rotates. A path that names an open descriptor (`/dev/stdout`, `/dev/fd/3`) is not rotated: it would
/// lead to the same file under its new name.
///
/// A new file has mode 0600, or that of its ``FilePermissions``. A file that replaces another one (after rotation, or if the file
/// was moved away) gets that one's permissions. An existing file keeps its mode. A symbolic link at the end of the path is
/// followed if this user or root created it; another user's link is refused.
///
/// A path that leads to a pipe works if it has a reader; then the rules of ``DescriptorSink`` apply. There is no time-out for a
/// disk that hangs (a network file system): the reporter thread hangs with it, and nothing else.
public final class FileSink: RecordSink {
    private struct State: ~Copyable {
        var line: LineDescriptor?
        var device: dev_t = 0
        var inode: ino_t = 0
        /// The line owns it.
        var descriptor: Int32 = -1
        var isFile = false
        /// ``LineFile/Opened/isByDescriptor``
        var isByDescriptor = false
        var permissions: mode_t = 0
        var abandoned: UInt64 = 0
        var isClosed = false
    }

    /// The path as given; a relative one is resolved from the process's working directory each time.
    public let name: String
    private let rotation: FileRotation?
    private let permissions: FilePermissions
    private let choice: LineFile.Choice
    private let timeoutNanoseconds: UInt64
    private let limit = SharedDeadline()
    private let state: PthreadMutex<State>

    /// Opens the file, and creates it if missing.
    /// - Parameters:
    ///   - rotation: the maximum size of the file; nil: another program rotates it.
    ///   - permissions: which users may read it.
    ///   - timeout: how long a line waits if the path leads to a pipe.
    /// - Throws: ``SinkError/Reason/cannotOpen`` with the path and the system's reason.
    public convenience init(
        path: String,
        rotation: FileRotation? = nil,
        permissions: FilePermissions = .owner,
        timeout: Duration = DescriptorSink.defaultTimeout
    ) throws(SinkError) {
        try self.init(path: path, .named, rotation: rotation, permissions: permissions, timeout: timeout)
    }

    /// - Parameter choice: whether a user or a default chose the path.
    package init(
        path: String,
        _ choice: LineFile.Choice,
        rotation: FileRotation? = nil,
        permissions: FilePermissions = .owner,
        timeout: Duration = DescriptorSink.defaultTimeout
    ) throws(SinkError) {
        name = path
        self.rotation = rotation
        self.permissions = permissions
        self.choice = choice
        timeoutNanoseconds = timeout.clampedNanoseconds
        var initial = State()
        try Self.open(path, choice, as: permissions.mode, into: &initial)
        state = PthreadMutex(initial)
    }

    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        let deadline = WriteDeadline(timeoutNanoseconds: timeoutNanoseconds, limit: limit)
        try state.withLock { state throws(SinkError) in
            guard !state.isClosed else { throw SinkError(.closed, path: name) }
            if state.line == nil || Self.pathMoved(name, from: state) {
                do throws(SinkError) {
                    try reopen(&state, deadline: deadline)
                } catch {
                    // If the folder was removed, the old file cannot be read any more.
                    if state.line == nil || Self.hasNoName(state) { throw error }
                }
            }
            // If the file was opened by descriptor, reopening would lead to the old file again.
            if let rotation, state.isFile, !state.isByDescriptor,
                rotation.isDue(state.descriptor, adding: line.count),
                rotation.rotate(name, state.descriptor) || Self.pathMoved(name, from: state)
            {
                // If that fails, lines go to the old file, which is path.1 now, and the next line tries again.
                try? reopen(&state, deadline: deadline)
            }
            try state.line!.write(line, path: name, deadline: deadline)
        }
    }

    public func reopen() throws(SinkError) {
        let deadline = WriteDeadline(timeoutNanoseconds: timeoutNanoseconds, limit: limit)
        try state.withLock { state throws(SinkError) in
            guard !state.isClosed else { throw SinkError(.closed, path: name) }
            try reopen(&state, deadline: deadline)
        }
    }

    public func resume() throws(SinkError) {
        let deadline = WriteDeadline(timeoutNanoseconds: timeoutNanoseconds, limit: limit)
        try state.withLock { state throws(SinkError) in
            if state.isClosed { try reopen(&state, deadline: deadline) }
        }
    }

    public func close() {
        let deadline = WriteDeadline(timeoutNanoseconds: timeoutNanoseconds, limit: limit)
        state.withLock { state in
            Self.release(&state, path: name, deadline: deadline)
            state.isClosed = true
        }
    }

    public func limitWaiting(until deadline: MonotonicTime?) { limit.nanoseconds = deadline?.nanoseconds ?? .max }

    public func takeAbandonedLines() -> UInt64 {
        state.withLock { state in
            defer { state.abandoned = 0 }
            return state.abandoned + (state.line?.takeAbandoned() ?? 0)
        }
    }

    /// Opens the path; on success, the old file's last line is finished and the old file is closed.
    private func reopen(_ state: inout State, deadline: WriteDeadline) throws(SinkError) {
        var fresh = State()
        try Self.open(name, choice, as: Self.permissions(of: state) ?? permissions.mode, into: &fresh)
        Self.release(&state, path: name, deadline: deadline)
        fresh.abandoned = state.abandoned
        state = fresh
    }

    private static func release(_ state: inout State, path: String, deadline: WriteDeadline) {
        guard state.line != nil else { return }
        try? state.line!.finishRest(path: path, deadline: deadline)
        state.line!.abandonRest()
        state.abandoned += state.line!.takeAbandoned()
        state.line = nil
    }

    private static func open(
        _ path: String,
        _ choice: LineFile.Choice,
        as mode: mode_t?,
        into state: inout State
    ) throws(SinkError) {
        let opened = try LineFile.open(path, choice)
        let descriptor = opened.descriptor
        if opened.isNew, let mode { fchmod(descriptor, mode) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let code = errno
            _ = Glibc.close(descriptor)
            throw SinkError(.cannotOpen, path: path, code: code)
        }
        let isFile = status.st_mode & S_IFMT == S_IFREG
        let needsNewline = isFile && status.st_size > 0 && !endsInNewline(path, size: status.st_size)
        state.line = LineDescriptor(owning: descriptor, kind: isFile ? .file : .nonBlocking, needsNewline: needsNewline)
        state.descriptor = descriptor
        state.isFile = isFile
        state.isByDescriptor = opened.isByDescriptor
        state.permissions = status.st_mode & 0o777
        state.device = status.st_dev
        state.inode = status.st_ino
    }

    /// Whether the file's last byte is a newline. A file that can be written but not read counts as not ending in one: an empty
    /// line does less harm.
    private static func endsInNewline(_ path: String, size: off_t) -> Bool {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { _ = Glibc.close(descriptor) }
        var last: UInt8 = 0
        return pread(descriptor, &last, 1, size - 1) == 1 && last == UInt8(ascii: "\n")
    }

    /// The file's present permissions while it is open: the process that created it may have set them after it was opened here.
    private static func permissions(of state: borrowing State) -> mode_t? {
        guard state.isFile else { return nil }
        var status = stat()
        return state.line != nil && fstat(state.descriptor, &status) == 0 ? status.st_mode & 0o777 : state.permissions
    }

    private static func hasNoName(_ state: borrowing State) -> Bool {
        var status = stat()
        return state.isFile && fstat(state.descriptor, &status) == 0 && status.st_nlink == 0
    }

    private static func pathMoved(_ path: String, from state: borrowing State) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return errno == ENOENT }
        return status.st_dev != state.device || status.st_ino != state.inode
    }
}

extension FilePermissions {
    /// Nil: ``LineFile``'s default, under the umask.
    fileprivate var mode: mode_t? {
        switch self {
        case .owner: nil
        case .group: 0o640
        case .everyone: 0o644
        }
    }
}
