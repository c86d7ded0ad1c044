internal import Glibc

/// Keeps the stalls in progress in a file that outlives the process: SIGKILL, a crash, out of memory.
///
/// The file is created when there is something to keep, and removed by ``close()``; a process that never stalls never creates
/// one. Written data stays in the kernel's memory when the process dies, like any other write. There is no `fsync`, so it is lost
/// if the machine fails. It is written by `pwrite` and not through mapped memory: if a mapped file is truncated, or its disk is
/// full, SIGBUS kills the host.
///
/// One thread at a time (the reporter). A write is two system calls, some microseconds; a disk that hangs blocks the reporter, as
/// with any file.
package struct UnfinishedFile: ~Copyable {
    private let place: UnfinishedPath
    private let identity: ProcessIdentity
    private let halfCapacity: Int
    private var descriptor: Int32 = -1
    private var path = ""
    private var generation: UInt64 = 0

    /// - Parameter maxLineBytes: the limit of a record's line.
    package init(_ place: UnfinishedPath, bootID: String, maxLineBytes: Int) {
        self.place = place
        identity = .current(bootID: bootID)
        halfCapacity = Self.halfCapacity(maxLineBytes: maxLineBytes)
    }

    /// Two formats at once, and the other data of a stall.
    static func halfCapacity(maxLineBytes: Int) -> Int { maximumStalls * (maxLineBytes * 2 + 4096) }

    /// The maximum number of stalls; if there are more, the oldest are kept.
    private static let maximumStalls = 16

    deinit { if descriptor >= 0 { _ = Glibc.close(descriptor) } }

    /// Replaces what is kept. Stalls beyond the maximum are left out. If the file cannot be created or written, nothing is kept,
    /// and the next call tries again.
    /// - Returns: whether all of them are kept now.
    @discardableResult
    package mutating func keep(_ stalls: [UnfinishedStall]) -> Bool {
        if descriptor < 0 {
            if stalls.isEmpty { return true }
            guard open() else { return false }
        } else if !Self.isLinked(descriptor, at: path) || size < UnfinishedLayout.headerBytes {
            // It was removed or truncated: what is written now would not be found there.
            close()
            guard stalls.isEmpty || open() else { return false }
            if stalls.isEmpty { return true }
        }
        var bytes: [UInt8] = []
        var isWhole = true
        for stall in stalls {
            let before = bytes.count
            stall.encode(to: &bytes)
            guard bytes.count > halfCapacity else { continue }
            bytes.removeSubrange(before...)
            isWhole = false
        }
        generation += 1
        let half = Int(generation % 2)
        let head = UnfinishedLayout.head(generation: generation, bytes)
        guard write(bytes, at: UnfinishedLayout.offset(ofHalf: half, halfCapacity: halfCapacity)),
            write(head, at: UnfinishedLayout.offsetOfHead(half))
        else { return false }
        return isWhole
    }

    /// Removes the file: nothing is in progress any more.
    package mutating func close() {
        guard descriptor >= 0 else { return }
        // Another file may have been put in its place.
        if Self.isLinked(descriptor, at: path) { unlink(path) }
        _ = Glibc.close(descriptor)
        descriptor = -1
    }

    private mutating func open() -> Bool {
        for candidate in place.candidates {
            let made = Glibc.open(candidate, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard made >= 0 else {
                if errno == EEXIST { continue }
                return false
            }
            // Held as long as this process lives: a process that finds the file locked leaves it alone.
            guard flock(made, LOCK_EX | LOCK_NB) == 0 else {
                _ = Glibc.close(made)
                continue
            }
            (descriptor, path, generation) = (made, candidate, 0)
            if write(UnfinishedLayout.header(identity, halfCapacity: halfCapacity), at: 0) { return true }
            close()
            return false
        }
        return false
    }

    private var size: Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    private func write(_ bytes: [UInt8], at offset: Int) -> Bool { Self.write(bytes, to: descriptor, at: offset) }

    package static func write(_ bytes: [UInt8], to descriptor: Int32, at offset: Int) -> Bool {
        var written = 0
        return bytes.withUnsafeBytes { bytes in
            while written < bytes.count {
                // A file size limit must not kill the host.
                let (count, code) = WriteSignalGuard.withoutSignals {
                    let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                    let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + written))
                    return (count, errno)
                }
                if count < 0 && code == EINTR { continue }
                guard count > 0 else { return false }
                written += count
            }
            return true
        }
    }

    package static func isLinked(_ descriptor: Int32, at path: String) -> Bool {
        var (own, other) = (stat(), stat())
        guard fstat(descriptor, &own) == 0, lstat(path, &other) == 0 else { return false }
        return own.st_dev == other.st_dev && own.st_ino == other.st_ino
    }
}
