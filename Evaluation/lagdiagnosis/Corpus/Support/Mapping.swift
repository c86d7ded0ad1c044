internal import Glibc

/// Memory that stays mapped until the process exits.
// Unchecked: an address and a size that never change; only the main thread accesses the memory.
struct Mapping: @unchecked Sendable {
    let start: UnsafeMutableRawPointer
    let bytes: Int

    init(_ bytes: Int, descriptor: Int32 = -1) throws {
        let flags = descriptor >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS
        let protection = descriptor >= 0 ? PROT_READ : PROT_READ | PROT_WRITE
        guard let start = mmap(nil, bytes, protection, flags, descriptor, 0), start != MAP_FAILED else {
            throw Unavailable("mmap", errno: errno)
        }
        self.start = start
        self.bytes = bytes
    }
}
