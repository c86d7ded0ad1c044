internal import Glibc
internal import LagModel

/// Finds the field of a name with one access to a small table and one comparison. No reference counting.
struct FieldNames: ~Copyable {
    private struct Entry {
        /// Nil: an empty slot. Points to a static string, so it stays valid.
        let name: UnsafePointer<UInt8>?
        let count: Int
        let field: StallField
    }

    private static let slots = 512
    private let entries: UnsafeMutablePointer<Entry>

    init() {
        entries = .allocate(capacity: Self.slots)
        entries.initialize(repeating: Entry(name: nil, count: 0, field: .schema), count: Self.slots)
        for rule in FieldTable.all {
            let name = UnsafeBufferPointer(start: rule.name.utf8Start, count: rule.name.utf8CodeUnitCount)
            var slot = Self.slot(name)
            while entries[slot].name != nil { slot = (slot + 1) % Self.slots }
            entries[slot] = Entry(name: name.baseAddress, count: name.count, field: rule.field)
        }
    }

    deinit { entries.deallocate() }

    /// Nil for a name that is not in the table.
    @inline(__always) borrowing func field(named name: UnsafeBufferPointer<UInt8>) -> StallField? {
        guard let first = name.baseAddress, !name.isEmpty else { return nil }
        var slot = Self.slot(name)
        // This loop ends because there are more slots than names.
        while let known = entries[slot].name {
            if entries[slot].count == name.count, memcmp(known, first, name.count) == 0 { return entries[slot].field }
            slot = (slot + 1) % Self.slots
        }
        return nil
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
