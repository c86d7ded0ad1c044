internal import Synchronization

/// Ensures that a stall counts once, however many lines report it: `begin` and `end`, and lines that a shipper sent twice.
///
/// - For an ended stall, a 64-bit hash of its id is kept: for the last 2 to 4 million ids (exactly: two generations of
///   ``idsPerGeneration`` each, the older one forgotten as a whole), at most 64 MiB. A duplicate line with more stalls in
///   between is counted twice.
/// - A `begin` line is kept until its `end` line arrives, at most ``maximumOpenLines`` and ``maximumOpenBytes``; further ones are
///   counted immediately. The lines that remain at the end, ``openLines()``, belong to stalls in progress, or whose end was lost.
///
/// Two ids with the same hash count as one stall: the probability is below one in a million for a run of four million. Any
/// thread.
package final class StallDeduplicator: Sendable {
    package static let idsPerGeneration = 2 << 20
    package static let maximumOpenLines = 4096
    package static let maximumOpenBytes = 32 << 20
    /// To reduce contention between threads.
    private static let shards = 64

    package enum Decision: Sendable {
        case count
        /// Already reported, or to be reported with its end.
        case ignore
    }

    private struct Shard {
        var ended = HashGenerations(capacity: idsPerGeneration / shards)
        var open: [UInt64: [UInt8]] = [:]
    }

    /// A box, because an array cannot contain a mutex.
    private final class Box: Sendable {
        let shard = Mutex(Shard())
    }

    private let boxes = (0..<shards).map { _ in Box() }

    // For all shards together, because random ids do not fill them evenly.
    private let openLineCount = Atomic<Int>(0)
    private let openBytes = Atomic<Int>(0)

    package init() {}

    /// - Parameters:
    ///   - hash: the hash of the stall's id.
    ///   - isBegin: whether the line belongs to a stall in progress.
    ///   - line: copied if it must be kept.
    package func admit(_ hash: UInt64, isBegin: Bool, line: UnsafeRawBufferPointer) -> Decision {
        boxes[Int(hash >> 58)].shard.withLock { shard in
            guard isBegin else {
                if !shard.open.isEmpty, let line = shard.open.removeValue(forKey: hash) {
                    release(line.count)
                }
                return shard.ended.insert(hash) ? .count : .ignore
            }
            if shard.open[hash] != nil || shard.ended.contains(hash) { return .ignore }
            guard reserve(line.count) else {
                return shard.ended.insert(hash) ? .count : .ignore
            }
            shard.open[hash] = Array(line)
            return .ignore
        }
    }

    /// Reserves space for one more line.
    private func reserve(_ bytes: Int) -> Bool {
        let lines = openLineCount.add(1, ordering: .relaxed).newValue
        let sum = openBytes.add(bytes, ordering: .relaxed).newValue
        if lines <= Self.maximumOpenLines, sum <= Self.maximumOpenBytes { return true }
        release(bytes)
        return false
    }

    private func release(_ bytes: Int) {
        openLineCount.subtract(1, ordering: .relaxed)
        openBytes.subtract(bytes, ordering: .relaxed)
    }

    /// The `begin` lines without an end line.
    package func openLines() -> [[UInt8]] { boxes.flatMap { $0.shard.withLock { Array($0.open.values) } } }
}

/// A set of hashes that forgets the oldest: two tables; when the younger one is full, it becomes the older.
struct HashGenerations: Sendable {
    private static let leastSlots = 256

    private let capacity: Int
    private var young: ContiguousArray<UInt64>
    private var old: ContiguousArray<UInt64> = []
    private var count = 0

    init(capacity: Int) {
        self.capacity = capacity
        young = ContiguousArray(repeating: 0, count: Self.leastSlots)
    }

    /// False if it was already present.
    mutating func insert(_ hash: UInt64) -> Bool {
        let hash = hash == 0 ? 1 : hash
        if Self.find(hash, in: old) >= 0 { return false }
        let slot = Self.find(hash, in: young)
        if slot >= 0 { return false }
        young[-1 - slot] = hash
        count += 1
        if count >= capacity {
            old = young
            young = ContiguousArray(repeating: 0, count: Self.leastSlots)
            count = 0
        } else if count * 2 > young.count {
            grow()
        }
        return true
    }

    func contains(_ hash: UInt64) -> Bool {
        let hash = hash == 0 ? 1 : hash
        return Self.find(hash, in: young) >= 0 || Self.find(hash, in: old) >= 0
    }

    private mutating func grow() {
        var larger = ContiguousArray<UInt64>(repeating: 0, count: young.count * 2)
        for hash in young where hash != 0 { larger[-1 - Self.find(hash, in: larger)] = hash }
        young = larger
    }

    /// The slot of a hash, or `-1 - slot` of its insertion slot; -1 in an empty table, which has no slot.
    private static func find(_ hash: UInt64, in table: ContiguousArray<UInt64>) -> Int {
        guard !table.isEmpty else { return -1 }
        var slot = Int(truncatingIfNeeded: hash) & (table.count - 1)
        while table[slot] != 0 {
            if table[slot] == hash { return slot }
            slot = (slot + 1) & (table.count - 1)
        }
        return -1 - slot
    }
}
