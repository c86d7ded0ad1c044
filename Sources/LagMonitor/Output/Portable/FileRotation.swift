/// How large a file of lines may become, and how many old ones are kept.
///
/// Before a line that would bring the file above ``maxBytes``, `path` is renamed to `path.1`, `path.1` to `path.2`, …; what was
/// `path.`maxFiles is gone. So at most ``maxBytes`` × (``maxFiles`` + 1) bytes are on the disk, as long as no line is longer than
/// ``maxBytes``. Lines are never torn between two files. Where a file cannot be renamed, lines go on to the present one, beyond
/// the size: too much is better than lost. For files that no other program rotates.
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
}

/// A size or a number of files that is not allowed.
public struct FileRotationError: Error, Sendable, Equatable, CustomStringConvertible {
    public let key: String
    public let value: Int
    public let allowed: ClosedRange<Int>

    public var description: String { "\(key) is \(value), allowed is \(allowed.lowerBound) to \(allowed.upperBound)" }
}
