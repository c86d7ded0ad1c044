internal import Glibc

/// Finds the field that a name stands for: one look into a small table, and one comparison.
struct FieldNames {
    private struct Entry {
        var name: ContiguousArray<UInt8> = []
        var field: StallField = .schema
    }

    private static let slots = 512
    private let entries: ContiguousArray<Entry>

    init() {
        var entries = ContiguousArray(repeating: Entry(), count: Self.slots)
        for rule in FieldRule.all {
            let name = ContiguousArray(rule.name.utf8)
            var slot = name.withUnsafeBufferPointer { Self.slot($0) }
            while !entries[slot].name.isEmpty { slot = (slot + 1) % Self.slots }
            entries[slot] = Entry(name: name, field: rule.field)
        }
        self.entries = entries
    }

    /// Nil when nobody knows the name.
    @inline(__always) func field(named name: UnsafeBufferPointer<UInt8>) -> StallField? {
        guard let first = name.baseAddress, !name.isEmpty else { return nil }
        return entries.withUnsafeBufferPointer { entries in
            var slot = Self.slot(name)
            // It ends: there are more slots than names.
            while true {
                let known = entries[slot].name.count
                if known == 0 { return nil }
                if known == name.count, entries[slot].name.withUnsafeBufferPointer({ memcmp($0.baseAddress!, first, known) }) == 0 {
                    return entries[slot].field
                }
                slot = (slot + 1) % Self.slots
            }
        }
    }

    /// By length, first, middle and last character.
    @inline(__always) private static func slot(_ name: UnsafeBufferPointer<UInt8>) -> Int {
        let count = name.count
        let hash =
            UInt32(truncatingIfNeeded: count) &* 0x9e37_79b1 ^ UInt32(name[0]) &* 0x85eb_ca6b ^ UInt32(name[count - 1])
            &* 0xc2b2_ae35 ^ UInt32(name[count / 2]) &* 0x27d4_eb2f ^ UInt32(name[count / 3]) &* 0x1656_67b1
        return Int(hash >> 23)
    }
}
