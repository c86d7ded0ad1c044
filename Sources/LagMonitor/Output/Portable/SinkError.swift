/// Why a sink did not accept a line, or could not be opened.
public struct SinkError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Reason: Sendable, Equatable {
        case cannotOpen
        case writeFailed
        /// The reader closed its end: no line will arrive any more.
        case readerGone
        /// The reader was too slow, up to the deadline.
        case tooSlow
        /// ``RecordSink/close()`` was called before.
        case closed
    }

    public let reason: Reason
    /// The path, or the sink's name: `stdout`.
    public let path: String
    /// The `errno` of the failing call; 0 if there is none.
    public let code: Int32
    /// The reason, if the system's text for ``code`` does not give it: `it is a symbolic link of another user (uid 1000)`.
    public let detail: String?

    public init(_ reason: Reason, path: String, code: Int32 = 0, detail: String? = nil) {
        self.reason = reason
        self.path = path
        self.code = code
        self.detail = detail
    }

    /// What failed and why, in one line: `cannot write to /var/log/stalls: No space left on device (errno 28)`.
    public var description: String {
        switch reason {
        case .cannotOpen: "cannot open \(path): \(detail ?? codeText)"
        case .writeFailed: "cannot write to \(path): \(codeText)"
        case .readerGone: "cannot write to \(path): \(detail ?? "its reader is gone")"
        case .tooSlow: "cannot write to \(path): \(detail ?? "its reader is too slow")"
        case .closed: "cannot write to \(path): it is closed"
        }
    }
}
