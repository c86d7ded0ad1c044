internal import CLagLinux

/// A task of a language that a thread runs.
struct LanguageTask: Equatable {
    /// Where the runtime has it: another one's while it lives, it is no other's.
    let address: UInt64
    /// As its runtime has it; nil: none, or it could not be read.
    let name: String?

    /// Of a name that is too long, the first whole characters.
    func write(to task: UnsafeMutablePointer<cll_task>) {
        task.pointee = cll_task()
        task.pointee.address = address
        // Objects are aligned by 16 bytes, and a record's numbers of tasks have 31 bits.
        task.pointee.number = UInt32(truncatingIfNeeded: address >> 4) & 0x7fff_ffff
        withUnsafeMutableBytes(of: &task.pointee.name) { bytes in
            var length = 0
            for character in name ?? "" {
                guard length + character.utf8.count <= bytes.count else { break }
                for byte in character.utf8 {
                    bytes[length] = byte
                    length += 1
                }
            }
            task.pointee.name_length = UInt8(length)
        }
    }
}
