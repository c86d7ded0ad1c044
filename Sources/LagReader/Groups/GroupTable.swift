internal import Glibc

/// Groups by key, with a bounded number: when the table is full, new keys are counted in one group for the rest.
package struct GroupTable: Sendable {
    /// This many fit in the documented memory (a group needs about 0.3 KB for a few stalls, 6 KB for many).
    package static let maximumGroups = 65_536

    /// Longer keys, culprits and fingerprints are truncated, so that lines of a hostile writer cannot fill the memory.
    package static let maximumTextBytes = 512

    package private(set) var groups: ContiguousArray<StallGroup> = []
    /// The group for keys that did not fit.
    package private(set) var rest = StallGroup(key: [])
    private var hashes: ContiguousArray<UInt64> = []
    /// Index into ``groups`` plus one; 0: free.
    private var slots = ContiguousArray<Int32>(repeating: 0, count: 1024)

    package init() {}

    /// Changes the group of a key, created if it is new.
    /// - Returns: its index in ``groups``; -1: ``rest``.
    @discardableResult @inline(__always)
    mutating func update(_ key: UnsafeBufferPointer<UInt8>, _ body: (inout StallGroup) -> Void) -> Int {
        let index = index(of: key.cut(Self.maximumTextBytes))
        if index < 0 { body(&rest) } else { body(&groups[index]) }
        return index
    }

    /// - Returns: for each group of the other, its index here; -1: ``rest``.
    @discardableResult package mutating func add(_ other: GroupTable) -> [Int] {
        rest.add(other.rest)
        return other.groups.map { group in group.key.withUnsafeBufferPointer { update($0) { $0.add(group) } } }
    }

    /// -1 if the table is full.
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
    /// At most `maximum` bytes, without a partial character at the end.
    @inline(__always) func cut(_ maximum: Int) -> Self { count <= maximum ? self : cutAtCharacter(maximum) }

    private func cutAtCharacter(_ maximum: Int) -> Self {
        var end = maximum
        // A character has at most three bytes after its first.
        while end > maximum - 3, self[end] & 0xc0 == 0x80 { end -= 1 }
        return Self(rebasing: self[..<end])
    }
}
