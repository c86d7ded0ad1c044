internal import Glibc

/// What the kernel's files and folders say. Allocates: for threads that may wait, not for the watchdog's.
package enum ProcFile {
    private static let bytesARead = 16 << 10

    /// The first `limit` bytes at most, as text. Some µs; any thread.
    /// - Returns: nil where the file cannot be opened, or where reading fails, as of a process that has ended.
    package static func text(at path: String, limit: Int) -> String? {
        bytes(at: path, limit: limit).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The first line of a small file; nil where it is empty or cannot be read.
    package static func firstLine(of path: String) -> String? {
        guard let line = bytes(at: path, limit: 256)?.prefix(while: { $0 != UInt8(ascii: "\n") }), !line.isEmpty else {
            return nil
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// The first `limit` bytes at most; the rest as of ``text(at:limit:)``.
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
