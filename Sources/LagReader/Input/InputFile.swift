internal import Glibc
internal import Synchronization

/// An input: a file, or stdin. Its first bytes determine its format, never its name. Any thread.
package final class InputFile: Sendable {
    package enum Content: Sendable, Equatable {
        /// Lines in a regular file, which can be read from any offset.
        case plain(bytes: UInt64)
        case gzip
        /// A sequential stream of lines: a pipe, a terminal, a socket.
        case stream
    }

    /// `stdin`, or the path.
    package let name: String
    package let content: Content
    /// The number of bytes to read, compressed or not; nil for a stream.
    package let bytes: UInt64?
    /// Where a plain file's bytes begin: part of stdin may already have been read.
    package let start: UInt64
    /// The open descriptor of stdin or a pipe, which cannot be reopened; nil for a file, which is open only while it is read.
    private let kept: OpenFile?
    private let shared = Mutex(Shared())
    private let device: dev_t
    private let inode: ino_t
    /// The bytes that were read from a stream to recognise its format.
    let head: [UInt8]

    private struct Shared {
        weak var file: OpenFile?
    }

    /// The name of stdin on the command line.
    package static let stdin = "-"

    /// Examines a file, `-` for stdin. Waits for the first bytes of a stream.
    /// - Throws: ``InputError`` if it cannot be opened or read, or is a folder.
    package init(_ path: String) throws(InputError) {
        let isStdin = path == Self.stdin
        name = isStdin ? "stdin" : path
        let descriptor = isStdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw InputError(name, "cannot open", errno) }
        var status = stat()
        let opened = OpenFile(descriptor)
        guard fstat(descriptor, &status) == 0 else { throw InputError(name, "cannot stat", errno) }
        device = status.st_dev
        inode = status.st_ino
        if status.st_mode & S_IFMT == S_IFREG {
            let size = UInt64(max(0, status.st_size))
            let place = isStdin ? UInt64(max(0, lseek(descriptor, 0, SEEK_CUR))) : 0
            let first = Self.readFully(descriptor, count: Compression.magicBytes, from: place) ?? []
            try Compression.refuse(first, name)
            start = place
            bytes = size - min(place, size)
            content = first.starts(with: Gzip.magic) ? .gzip : .plain(bytes: size - min(place, size))
            head = []
            kept = isStdin ? opened : nil
        } else {
            guard let first = Self.readFully(descriptor, count: Compression.magicBytes, from: nil) else {
                throw InputError(name, "cannot read", errno)
            }
            try Compression.refuse(first, name)
            start = 0
            bytes = nil
            content = first.starts(with: Gzip.magic) ? .gzip : .stream
            head = first
            kept = opened
        }
    }

    /// The open file; it stays open while the result is retained, and concurrent readers share it.
    /// - Throws: ``InputError`` if it can no longer be opened, or the path now refers to another file.
    func opened() throws(InputError) -> OpenFile {
        if let kept { return kept }
        return try shared.withLock { shared throws(InputError) in
            if let file = shared.file { return file }
            let descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
            guard descriptor >= 0 else { throw InputError(name, "cannot open", errno) }
            let file = OpenFile(descriptor)
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw InputError(name, "cannot stat", errno) }
            guard status.st_dev == device, status.st_ino == inode else {
                throw InputError(refused: name, "the file was replaced during the reading; the new file was not read")
            }
            shared.file = file
            return file
        }
    }

    /// The bytes of its lines from the start, decompressed. Only once for a stream.
    package func source(progress: ReadProgress? = nil) -> any ByteSource {
        switch content {
        case .plain: RangeSource(file: self, from: start, progress: progress)
        case .gzip where bytes != nil: GzipSource(RangeSource(file: self, from: start, progress: progress), name: name)
        case .gzip: GzipSource(StreamSource(file: self, progress: progress), name: name)
        case .stream: StreamSource(file: self, progress: progress)
        }
    }

    /// Reads `count` bytes, or fewer at the end or a line's end; nil after an error, see `errno`.
    private static func readFully(_ descriptor: Int32, count: Int, from place: UInt64?) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = bytes.withUnsafeMutableBytes { buffer in
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                guard let place else { return read(descriptor, rest.baseAddress, rest.count) }
                return pread(descriptor, rest.baseAddress, rest.count, off_t(clamping: place + UInt64(filled)))
            }
            if got < 0, errno == EINTR { continue }
            if got < 0 { return nil }
            if got == 0 { break }
            filled += got
            // Whoever writes a short line into a pipe may wait for the answer.
            if bytes[..<filled].contains(UInt8(ascii: "\n")) { break }
        }
        return Array(bytes.prefix(filled))
    }
}

/// Why a file, or the rest of it, could not be read.
package struct InputError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Whether the file's contents are damaged, in contrast to an error of access.
    package let isDamage: Bool
    /// Whether it exists but is of a kind that cannot be read in this way.
    package let isRefusal: Bool
    package let description: String

    package init(_ name: String, _ what: String, _ code: Int32) {
        isDamage = false
        isRefusal = false
        description = "\(what) \(name): \(String(cString: strerror(code)))"
    }

    /// - Parameter why: what the file is, and what is allowed.
    package init(refused name: String, _ why: String) {
        isDamage = false
        isRefusal = true
        description = "\(name): \(why)"
    }

    package init(damaged name: String, _ what: String) {
        isDamage = true
        isRefusal = false
        description = "\(name): \(what)"
    }
}
