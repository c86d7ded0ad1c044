internal import Glibc

/// Reads the kernel's files and folders. Allocates: for threads that may wait, not for the watchdog's.
package enum ProcFile {
    private static let bytesARead = 16 << 10

    /// At most the first `limit` bytes, as text. Some µs; any thread.
    /// - Returns: nil if the file cannot be opened, or if reading fails, for example because the process has ended.
    package static func text(at path: String, limit: Int) -> String? {
        bytes(at: path, limit: limit).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The first line of a small file; nil if it is empty or cannot be read.
    package static func firstLine(of path: String) -> String? {
        guard let line = bytes(at: path, limit: 256)?.prefix(while: { $0 != UInt8(ascii: "\n") }), !line.isEmpty else {
            return nil
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// At most the first `limit` bytes; otherwise like ``text(at:limit:)``.
    package static func bytes(at path: String, limit: Int) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: min(limit, bytesARead))
        while bytes.count < limit {
            let count = read(descriptor, &part, min(part.count, limit - bytes.count))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            guard count > 0 else { break }
            bytes += part[..<count]
        }
        return bytes
    }
}
