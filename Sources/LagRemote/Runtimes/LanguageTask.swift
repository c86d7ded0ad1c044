internal import CLagLinux

/// A task of a language that a thread runs.
struct LanguageTask: Equatable {
    /// The runtime's address of it: unique while it lives.
    let address: UInt64
    /// Its name in the runtime; nil: none, or it could not be read.
    let name: String?
    /// Its runtime's ID; nil: none.
    var number: UInt32?
    /// The names of the chain of tasks that wait for it.
    var awaiters: [String] = []

    /// An overlong name is truncated to whole characters.
    func write(to task: UnsafeMutablePointer<cll_task>) {
        task.pointee = cll_task()
        task.pointee.address = address
        // Objects are aligned to 16 bytes, and task IDs of records have 31 bits.
        task.pointee.number = number ?? UInt32(truncatingIfNeeded: address >> 4) & 0x7fff_ffff
        task.pointee.name_length = withUnsafeMutableBytes(of: &task.pointee.name) { Self.write(name ?? "", to: $0) }
        withUnsafeMutableBytes(of: &task.pointee.awaiters) { names in
            withUnsafeMutableBytes(of: &task.pointee.awaiter_lengths) { lengths in
                for (index, awaiter) in zip(lengths.indices, awaiters) {
                    let begin = index * Int(CLL_TASK_NAME_BYTES)
                    let room = UnsafeMutableRawBufferPointer(rebasing: names[begin..<begin + Int(CLL_TASK_NAME_BYTES)])
                    lengths[index] = Self.write(awaiter, to: room)
                }
            }
        }
    }

    private static func write(_ name: String, to bytes: UnsafeMutableRawBufferPointer) -> UInt8 {
        var length = 0
        for character in name {
            guard length + character.utf8.count <= bytes.count else { break }
            for byte in character.utf8 {
                bytes[length] = byte
                length += 1
            }
        }
        return UInt8(length)
    }
}
