internal import CLagLinux
internal import Glibc

/// Bytes at offsets: a file, or an image in memory. Every read is checked against the size; what is read is not trusted.
///
/// A file is read with `pread` and not mapped: if a mapped file is truncated meanwhile, SIGBUS is raised, and the monitor would
/// kill its host. From the page cache the copy costs little (a symbol table of a megabyte, a third of a millisecond).
struct ByteSource: ~Copyable {
    /// -1 for an image in memory.
    private let descriptor: Int32
    private let image: UnsafeRawBufferPointer
    let size: UInt64
    /// Identifies the file and its state; nil for an image in memory.
    let identity: FileIdentity?

    /// Opens a regular file; nil if there is none that may be read.
    init?(path: String) {
        // Non-blocking: a path that leads to a pipe must not block.
        let descriptor = cll_spare_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            cll_spare_close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        image = UnsafeRawBufferPointer(start: nil, count: 0)
        size = UInt64(status.st_size)
        identity = FileIdentity(status)
    }

    /// Memory that stays readable as long as this source exists.
    init(memory: UnsafeRawBufferPointer) {
        descriptor = -1
        image = memory
        size = UInt64(memory.count)
        identity = nil
    }

    deinit { if descriptor >= 0 { cll_spare_close(descriptor) } }

    /// Fills `buffer` from `offset`; false if not all of it is available.
    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        let (end, overflow) = offset.addingReportingOverflow(UInt64(buffer.count))
        guard !overflow, end <= size, end <= UInt64(Int64.max) else { return false }
        guard descriptor >= 0 else {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: image[Int(offset)..<Int(end)]))
            return true
        }
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    /// `count` bytes from `offset`; nil if not all of them are available.
    func bytes(at offset: UInt64, count: Int) -> [UInt8]? {
        guard count >= 0, UInt64(count) <= size else { return nil }
        var isComplete = false
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            isComplete = read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
            initialized = isComplete ? count : 0
        }
        return isComplete ? bytes : nil
    }
}
