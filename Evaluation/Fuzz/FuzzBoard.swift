internal import Glibc

/// A mapped file to which a child writes its current input before it reads it. The file outlives the child.
final class FuzzBoard {
    private static let headBytes = 64
    private let memory: UnsafeMutableRawPointer
    private let size = headBytes + Mutator.maximumBytes

    init(_ path: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0, ftruncate(descriptor, off_t(size)) == 0,
            let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), memory != MAP_FAILED
        else { throw FuzzError("cannot map \(path)") }
        close(descriptor)
        self.memory = memory
    }

    deinit { munmap(memory, size) }

    /// The number of inputs so far.
    var tries: UInt64 {
        get { memory.load(as: UInt64.self) }
        set { memory.storeBytes(of: newValue, as: UInt64.self) }
    }

    var input: [UInt8] {
        get {
            let count = min(Int(clamping: memory.load(fromByteOffset: 8, as: UInt64.self)), Mutator.maximumBytes)
            return Array(UnsafeRawBufferPointer(start: memory + Self.headBytes, count: count))
        }
        set {
            memory.storeBytes(of: UInt64(newValue.count), toByteOffset: 8, as: UInt64.self)
            newValue.withUnsafeBytes { if let base = $0.baseAddress { memcpy(memory + Self.headBytes, base, $0.count) } }
        }
    }
}
