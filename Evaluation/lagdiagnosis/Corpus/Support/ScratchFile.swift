internal import Glibc

/// A file on a disk: /var/tmp must survive a reboot, so it is rarely in memory.
final class ScratchFile: Sendable {
    let path: String
    let descriptor: Int32

    init(bytes: Int = 0) throws {
        path = TemporaryPaths.newPath()
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Unavailable("open \(path)", errno: errno) }
        let block = [UInt8](repeating: 0x5a, count: 1 << 20)
        for _ in 0..<(bytes >> 20) where write(descriptor, block, block.count) != block.count {
            remove()
            throw Unavailable("write to \(path)", errno: errno)
        }
        if bytes > 0 { fsync(descriptor) }
    }

    /// Removes its name; open descriptors and mappings stay valid.
    func remove() { unlink(path) }

    /// Makes the kernel discard its cached content.
    func evict() { posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) }

    func map(_ bytes: Int) throws -> Mapping { try Mapping(bytes, descriptor: descriptor) }
}
