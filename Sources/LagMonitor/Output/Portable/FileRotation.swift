/// The maximum size of a file of lines, and how many old files are kept.
///
/// Before a line that would make the file larger than ``maxBytes``, `path` is renamed to `path.1`, `path.1` to `path.2`, …; the
/// old `path.`maxFiles is deleted. So at most ``maxBytes`` × (``maxFiles`` + 1) bytes are on disk, if no line is longer than
/// ``maxBytes``. A line is never split between two files. If a file cannot be renamed, lines go to the present one, beyond the
/// size, rather than being lost. For files that no other program rotates.
public struct FileRotation: Sendable, Equatable {
    /// The allowed range of ``maxBytes``.
    public static let allowedBytes = 4096...1_099_511_627_776
    /// The allowed range of ``maxFiles``.
    public static let allowedFiles = 1...1000
    /// The default of ``maxFiles``.
    public static let defaultFiles = 5

    /// The maximum size of the file, in bytes.
    public let maxBytes: Int
    /// How many numbered files are kept in addition.
    public let maxFiles: Int

    /// - Throws: ``ValidationError``, which names the value that is out of range.
    public init(maxBytes: Int, maxFiles: Int = FileRotation.defaultFiles) throws(ValidationError) {
        guard Self.allowedBytes.contains(maxBytes) else {
            throw ValidationError(key: "max_bytes", value: maxBytes, allowed: Self.allowedBytes)
        }
        guard Self.allowedFiles.contains(maxFiles) else {
            throw ValidationError(key: "max_files", value: maxFiles, allowed: Self.allowedFiles)
        }
        self.maxBytes = maxBytes
        self.maxFiles = maxFiles
    }

    /// A size or a number of files that is not allowed.
    public struct ValidationError: Error, Sendable, Equatable, CustomStringConvertible {
        /// The setting: `max_bytes` or `max_files`.
        public let key: String
        public let value: Int
        public let allowed: ClosedRange<Int>

        public var description: String { "\(key) is \(value), allowed is \(allowed.lowerBound) to \(allowed.upperBound)" }
    }
}
