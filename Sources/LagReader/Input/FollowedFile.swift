internal import Glibc

/// Follows a file that grows, is truncated or replaced, like `tail -F`. One thread at a time.
///
/// A missing file is waited for. A file that became shorter is read from its start. (A file that was truncated and grew beyond
/// its former length between two polls looks like one that only grew.) When another file has the path, the old one is first read
/// to its end, twice with a poll in between, because its writer may not have switched yet; then the new one from its start.
package final class FollowedFile {
    package let path: String
    private var descriptor: Int32 = -1
    private var position: UInt64 = 0
    private var partial: [UInt8] = []
    private var isSkipping = false
    private var wasReplaced = false
    private let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    /// The last error; reported once.
    package private(set) var inputError: InputError?

    package init(path: String) { self.path = path }

    deinit {
        block.deallocate()
        if descriptor >= 0 { close(descriptor) }
    }

    /// Passes on the lines that were added since the last call.
    /// - Returns: whether there were bytes.
    package func readNew(_ take: (LineReader.Piece) -> Void) -> Bool {
        guard descriptor >= 0 || openFile() else { return false }
        var hasRead = readToEnd(take)
        var own = stat()
        if fstat(descriptor, &own) == 0, UInt64(max(0, own.st_size)) < position {
            position = 0
            partial = []
            isSkipping = false
            hasRead = readToEnd(take) || hasRead
        }
        var named = stat()
        let isReplaced = stat(path, &named) != 0 || named.st_ino != own.st_ino || named.st_dev != own.st_dev
        if isReplaced, wasReplaced {
            // Text without a newline at the end of a file that is no longer written is a line.
            if !isSkipping { partial.withUnsafeBytes { hand($0, take) } }
            close(descriptor)
            descriptor = -1
            wasReplaced = false
            return openFile() ? readToEnd(take) || hasRead : hasRead
        }
        wasReplaced = isReplaced
        return hasRead
    }

    /// Why the open file cannot be followed.
    private func refusal() -> InputError? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return InputError(refused: path, "not a regular file; allowed to follow: files of plain lines")
        }
        var magic: UInt16 = 0
        guard pread(descriptor, &magic, 2, 0) == 2, withUnsafeBytes(of: magic, Array.init) == Gzip.magic else { return nil }
        return InputError(refused: path, "gzip, which cannot be followed; allowed to follow: files of plain lines")
    }

    /// Opens the file, if it exists, and returns why it cannot be followed: it is not a regular file, or it is gzip.
    package func openFirst() -> InputError? {
        guard descriptor < 0, !openFile(), let inputError else { return nil }
        return inputError.isRefusal ? inputError : nil
    }

    private func openFile() -> Bool {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else {
            inputError = InputError(path, "cannot open", errno)
            return false
        }
        if let refusal = refusal() {
            inputError = refusal
            close(descriptor)
            descriptor = -1
            return false
        }
        inputError = nil
        position = 0
        partial = []
        isSkipping = false
        return true
    }

    private func readToEnd(_ take: (LineReader.Piece) -> Void) -> Bool {
        var hasRead = false
        while true {
            let count = pread(descriptor, block.baseAddress, block.count, off_t(clamping: position))
            if count < 0, errno == EINTR { continue }
            if count < 0 { inputError = InputError(path, "cannot read", errno) }
            guard count > 0 else { return hasRead }
            hasRead = true
            position += UInt64(count)
            cut(UnsafeRawBufferPointer(rebasing: block[..<count]), take)
        }
    }

    private func hand(_ line: UnsafeRawBufferPointer, _ take: (LineReader.Piece) -> Void) {
        if !LineReader.isBlank(line) { take(.line(line)) }
    }

    private func cut(_ bytes: UnsafeRawBufferPointer, _ take: (LineReader.Piece) -> Void) {
        var rest = bytes
        while let base = rest.baseAddress, !rest.isEmpty {
            guard let newline = memchr(base, 0x0a, rest.count) else {
                if isSkipping { return }
                if partial.count + rest.count > LineReader.maximumLineBytes {
                    partial = []
                    isSkipping = true
                    take(.overlong)
                } else {
                    partial += rest
                }
                return
            }
            let count = UnsafeRawPointer(newline) - base
            let line = UnsafeRawBufferPointer(rebasing: rest[..<count])
            if isSkipping {
                isSkipping = false
            } else if partial.isEmpty {
                hand(line, take)
            } else {
                partial += line
                partial.withUnsafeBytes { hand($0, take) }
                partial = []
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[(count + 1)...])
        }
    }
}
