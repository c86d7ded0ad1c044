internal import Glibc

/// Memory with all pages resident.
// Sendable without a check: the address never changes and the memory is never freed; only the main thread uses it.
struct WorkMemory: @unchecked Sendable {
    static let bytes = 8 << 20
    let start: UnsafeMutableRawPointer

    static func touched() -> WorkMemory {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 4096)
        memset(memory, 1, bytes)
        return WorkMemory(start: memory)
    }
}
