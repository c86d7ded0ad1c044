internal import Glibc

/// How large a file of lines may become, and how many old ones are kept.
///
/// Before a line that would bring the file above ``maxBytes``, `path` is renamed to `path.1`, `path.1` to `path.2`, …; what was
/// `path.`maxFiles is gone. So at most ``maxBytes`` × (``maxFiles`` + 1) bytes are on the disk, as long as no line is longer than
/// ``maxBytes``. Lines are never torn between two files. Where a file cannot be renamed, lines go on to the present one, beyond
/// the size: too much is better than lost. For files that nobody else rotates.
public struct FileRotation: Sendable, Equatable {
    /// The allowed range of ``maxBytes``.
    public static let allowedBytes = 4096...1_099_511_627_776
    /// The allowed range of ``maxFiles``.
    public static let allowedFiles = 1...1000
    /// ``maxFiles`` when nothing is said.
    public static let defaultFiles = 5

    /// The longest that the file may become, in bytes.
    public let maxBytes: Int
    /// Numbered files that are kept besides.
    public let maxFiles: Int

    /// - Throws: ``FileRotationError`` naming what is out of its range.
    public init(maxBytes: Int, maxFiles: Int = FileRotation.defaultFiles) throws(FileRotationError) {
        guard Self.allowedBytes.contains(maxBytes) else {
            throw FileRotationError(key: "max_bytes", value: maxBytes, allowed: Self.allowedBytes)
        }
        guard Self.allowedFiles.contains(maxFiles) else {
            throw FileRotationError(key: "max_files", value: maxFiles, allowed: Self.allowedFiles)
        }
        self.maxBytes = maxBytes
        self.maxFiles = maxFiles
    }

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

/// A size or a number of files that is not allowed.
public struct FileRotationError: Error, Sendable, Equatable, CustomStringConvertible {
    public let key: String
    public let value: Int
    public let allowed: ClosedRange<Int>

    public var description: String { "\(key) is \(value), allowed is \(allowed.lowerBound) to \(allowed.upperBound)" }
}
