internal import Glibc

/// Groups by their key, a bounded number of them: what comes when it is full goes into one group for the rest.
package struct GroupTable: Sendable {
    /// With what a group needs (about 0.3 KB for a few stalls, 6 KB for many), this many fit in the memory that is promised.
    package static let maximumGroups = 65_536

    /// Longer keys, culprits and fingerprints are cut to this: lines of a hostile writer shall not fill the memory.
    package static let maximumTextBytes = 512

    package private(set) var groups: ContiguousArray<StallGroup> = []
    /// What found no place.
    package private(set) var rest = StallGroup(key: [])
    private var hashes: ContiguousArray<UInt64> = []
    /// Index into ``groups`` plus one; 0: free.
    private var slots = ContiguousArray<Int32>(repeating: 0, count: 1024)

    package init() {}

    /// Changes the group of a key, made when it is new.
    /// - Returns: its index in ``groups``; -1: it is in ``rest``.
    @discardableResult @inline(__always)
    mutating func update(_ key: UnsafeBufferPointer<UInt8>, _ body: (inout StallGroup) -> Void) -> Int {
        let index = index(of: key.cut(Self.maximumTextBytes))
        if index < 0 { body(&rest) } else { body(&groups[index]) }
        return index
    }

    /// - Returns: for each of the other's groups its index here; -1: it went into ``rest``.
    @discardableResult package mutating func add(_ other: GroupTable) -> [Int] {
        rest.add(other.rest)
        return other.groups.map { group in group.key.withUnsafeBufferPointer { update($0) { $0.add(group) } } }
    }

    /// -1 when there is no place.
    private mutating func index(of key: UnsafeBufferPointer<UInt8>) -> Int {
        let hash = ByteHash.hash(key)
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let index = Int(slots[slot]) - 1
            if hashes[index] == hash, isKey(key, of: index) { return index }
            slot = (slot + 1) & (slots.count - 1)
        }
        guard groups.count < Self.maximumGroups else { return -1 }
        groups.append(StallGroup(key: key))
        hashes.append(hash)
        slots[slot] = Int32(groups.count)
        if groups.count * 2 > slots.count { grow() }
        return groups.count - 1
    }

    private func isKey(_ key: UnsafeBufferPointer<UInt8>, of index: Int) -> Bool {
        groups[index].key.withUnsafeBufferPointer { known in
            known.count == key.count && (key.isEmpty || memcmp(known.baseAddress!, key.baseAddress!, key.count) == 0)
        }
    }

    private mutating func grow() {
        var larger = ContiguousArray<Int32>(repeating: 0, count: slots.count * 2)
        for (index, hash) in hashes.enumerated() {
            var slot = Int(truncatingIfNeeded: hash) & (larger.count - 1)
            while larger[slot] != 0 { slot = (slot + 1) & (larger.count - 1) }
            larger[slot] = Int32(index + 1)
        }
        slots = larger
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// So many bytes at most, and no part of a character at the end.
    @inline(__always) func cut(_ maximum: Int) -> Self { count <= maximum ? self : cutAtCharacter(maximum) }

    private func cutAtCharacter(_ maximum: Int) -> Self {
        var end = maximum
        // A character has three bytes after its first at most.
        while end > maximum - 3, self[end] & 0xc0 == 0x80 { end -= 1 }
        return Self(rebasing: self[..<end])
    }
}
