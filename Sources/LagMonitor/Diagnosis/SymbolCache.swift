/// Cached answers, with limits for bytes and entries.
///
/// Two generations: an entry that is used moves to the younger one. When that is full, it becomes the older one, and the content
/// of the older one is dropped. So entries in use stay, and no entry needs a place in a list.
package struct SymbolCache<Value: SymbolCacheValue>: Sendable {
    package struct Key: Hashable, Sendable {
        /// The build-id; for a module without one, its path.
        package let module: String
        package let address: UInt64

        init(module: String, address: UInt64) {
            self.module = module
            self.address = address
        }

        package init(_ query: SymbolQuery) {
            module = query.buildID.isEmpty ? query.modulePath : query.buildID.lowercased()
            address = query.lookupAddress
        }
    }

    /// What an entry takes in addition to its strings: key, value, and the spare space of a dictionary that has just grown.
    private static var entryBytes: Int { 3 * (MemoryLayout<Key>.stride + MemoryLayout<Value>.stride) }

    private let generationBytes: Int
    private let generationCount: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]
    private var youngBytes = 0

    /// - Parameters:
    ///   - byteLimit: for both generations, as ``SymbolCacheValue/heapBytes`` counts.
    ///   - countLimit: the same for entries; at least 2.
    package init(byteLimit: Int, countLimit: Int = .max) {
        generationBytes = max(0, byteLimit / 2)
        generationCount = max(1, countLimit / 2)
    }

    package var count: Int { young.count + old.count }

    package mutating func removeAll() {
        (young, old, youngBytes) = ([:], [:], 0)
    }

    /// The cached answer for `key`.
    package mutating func value(for key: Key) -> Value? {
        if let value = young[key] { return value }
        guard let value = old.removeValue(forKey: key) else { return nil }
        insert(value, for: key)
        return value
    }

    /// Caches `value`; a value that alone would fill a generation is not kept.
    package mutating func insert(_ value: Value, for key: Key) {
        let bytes = Self.entryBytes + key.module.utf8.count + value.heapBytes
        guard bytes <= generationBytes else { return }
        if young.count >= generationCount || youngBytes + bytes > generationBytes {
            old = young
            young = [:]
            youngBytes = 0
        }
        if young.updateValue(value, forKey: key) == nil { youngBytes += bytes }
        old[key] = nil
    }
}

/// A value whose memory can be counted.
package protocol SymbolCacheValue: Sendable {
    /// Bytes outside the value itself: those of its strings and arrays.
    var heapBytes: Int { get }
}

extension String {
    /// How much heap the text takes: a header of 32 bytes plus the text; nothing if it fits into the value.
    var heapBytes: Int { utf8.count > 15 ? utf8.count + 32 : 0 }
}
