internal import Glibc

// The files on disk.
extension FileRotation {
    /// Whether the file must be rotated before this many more bytes.
    func isDue(_ descriptor: Int32, adding bytes: Int) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size > 0 else { return false }
        return Int(status.st_size) > maxBytes - bytes
    }

    /// Renames the files. False: not now, and nothing is lost. Then the present file is still in its place, or another process
    /// has moved it.
    ///
    /// The present file is moved first, to `path.rotating`: if that fails, no old file is removed. If a process that ended left a
    /// file there, that file gets its number first.
    ///
    /// Several processes may write one file. A process locks a file before it checks its place, and keeps the lock until the file
    /// has its number: otherwise one process would overwrite what another one has just numbered.
    /// - Parameter descriptor: of the present file. If the file was moved, it keeps the lock, and must then be closed.
    func rotate(_ path: String, _ descriptor: Int32) -> Bool {
        // The target of a link is renamed, so that the link stays.
        let path = Self.resolved(path) ?? path
        guard Self.lock(descriptor) else { return false }
        let isMoved = UnfinishedFile.isLinked(descriptor, at: path) && move(path, descriptor)
        if !isMoved { flock(descriptor, LOCK_UN) }
        return isMoved
    }

    private func move(_ path: String, _ descriptor: Int32) -> Bool {
        let moving = "\(path).rotating"
        if UnfinishedFile.isLinked(descriptor, at: moving) {
            // A second name, from a process that ended while it moved the file back.
            unlink(moving)
        } else if exists(moving) {
            guard numberLeft(moving, path) else { return false }
        }
        guard rename(path, moving) == 0 else { return false }
        if number(moving, path) { return true }
        // Move it back, unless another process has created a new file there. In that case it gets its number the next time.
        if link(moving, path) == 0 { unlink(moving) }
        return false
    }

    /// Numbers what a process left when it ended. False: another process is numbering it, or it cannot be numbered.
    private func numberLeft(_ moving: String, _ path: String) -> Bool {
        let left = open(moving, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        // A process that writes the same file would not have created one that cannot be opened.
        guard left >= 0 else { return errno != ENOENT && number(moving, path) }
        defer { close(left) }
        return Self.lock(left) && UnfinishedFile.isLinked(left, at: moving) && number(moving, path)
    }

    /// False: another process has the lock. On a file system without locks, only one process may write the file.
    private static func lock(_ descriptor: Int32) -> Bool {
        flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
    }

    private static func resolved(_ path: String) -> String? {
        guard let text = realpath(path, nil) else { return nil }
        defer { free(text) }
        return String(cString: text)
    }

    /// Renames a file to `path.1`. The others move up to the first free number, so that steps of a failed attempt are not
    /// repeated.
    private func number(_ moving: String, _ path: String) -> Bool {
        let free = (1..<maxFiles).first { !exists("\(path).\($0)") } ?? maxFiles
        for number in stride(from: free - 1, through: 1, by: -1) {
            // A file that cannot be moved must not be overwritten by the one before it.
            guard rename("\(path).\(number)", "\(path).\(number + 1)") == 0 else { return false }
        }
        return rename(moving, "\(path).1") == 0
    }

    private func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
