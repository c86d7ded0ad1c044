internal import Glibc

// The files on the disk.
extension FileRotation {
    /// Whether the file has to make room before so many bytes more.
    func isDue(_ descriptor: Int32, adding bytes: Int) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size > 0 else { return false }
        return Int(status.st_size) > maxBytes - bytes
    }

    /// Renames the files. False: not now, and nothing is lost. Then the present one is still where it was, or another process has
    /// moved it.
    ///
    /// The present one goes first, to `path.rotating`: where it cannot be moved, no old file gives way. One that an ended process left
    /// there gets its number first.
    ///
    /// Several processes may write one file. Whoever moves or numbers a file locks it before looking where it is, until it has its
    /// number: else one process would overwrite what another one has just numbered.
    /// - Parameter descriptor: of the present file. Keeps the lock where the file was moved, and is to be closed then.
    func rotate(_ path: String, _ descriptor: Int32) -> Bool {
        // To where a link leads, so that the link stays.
        let path = Self.resolved(path) ?? path
        guard Self.lock(descriptor) else { return false }
        let isMoved = UnfinishedFile.isLinked(descriptor, at: path) && move(path, descriptor)
        if !isMoved { flock(descriptor, LOCK_UN) }
        return isMoved
    }

    private func move(_ path: String, _ descriptor: Int32) -> Bool {
        let moving = "\(path).rotating"
        if UnfinishedFile.isLinked(descriptor, at: moving) {
            // A second name, of a process that ended while it moved the file back.
            unlink(moving)
        } else if exists(moving) {
            guard numberLeft(moving, path) else { return false }
        }
        guard rename(path, moving) == 0 else { return false }
        if number(moving, path) { return true }
        // Back, unless another process has made a new file there. Then it gets its number the next time.
        if link(moving, path) == 0 { unlink(moving) }
        return false
    }

    /// Numbers what an ended process left. False: another process is just numbering it, or it cannot be numbered.
    private func numberLeft(_ moving: String, _ path: String) -> Bool {
        let left = open(moving, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        // No process that writes the same file would have made one that cannot be opened.
        guard left >= 0 else { return errno != ENOENT && number(moving, path) }
        defer { close(left) }
        return Self.lock(left) && UnfinishedFile.isLinked(left, at: moving) && number(moving, path)
    }

    /// False: another process has it. Where the file system has no locks, there has to be one process alone.
    private static func lock(_ descriptor: Int32) -> Bool {
        flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
    }

    private static func resolved(_ path: String) -> String? {
        guard let text = realpath(path, nil) else { return nil }
        defer { free(text) }
        return String(cString: text)
    }

    /// Makes a file `path.1`. The others move up to the first number that is free, so that what failed halfway is not done again.
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
