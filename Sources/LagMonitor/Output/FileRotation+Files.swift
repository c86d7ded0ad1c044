internal import Glibc

// The files on the disk.
extension FileRotation {
    /// Whether the file has to make room before so many bytes more.
    func isDue(_ descriptor: Int32, adding bytes: Int) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size > 0 else { return false }
        return Int(status.st_size) > maxBytes - bytes
    }

    /// Renames the files. False when the present one is still where it was; then nothing is lost either.
    ///
    /// The present one goes first, to `path.rotating`: where it cannot be moved, no old file gives way. One that an ended process left
    /// there gets its number first.
    func rotate(_ path: String) -> Bool {
        let moving = "\(path).rotating"
        if exists(moving) { guard number(moving, path) else { return false } }
        guard rename(path, moving) == 0 else { return false }
        if number(moving, path) { return true }
        _ = rename(moving, path)
        return false
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
