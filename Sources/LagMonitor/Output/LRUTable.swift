/// Values by fingerprint, at most ``capacity``: the least recently used one is evicted.
struct LRUTable<Value: Sendable>: Sendable {
    private struct Entry {
        var value: Value
        var used: UInt64
    }

    let capacity: Int
    private var entries: [String: Entry] = [:]
    private var uses: UInt64 = 0

    init(capacity: Int) { self.capacity = max(1, capacity) }

    var count: Int { entries.count }

    /// The value of a key. This does not count as a use; setting a missing key does not add it.
    subscript(key: String) -> Value? {
        get { entries[key]?.value }
        set { if let newValue { entries[key]?.value = newValue } }
    }

    /// Uses a key: afterwards it is present, and the last to be evicted.
    /// - Returns: what was evicted for it. Finding that scans every entry.
    mutating func use(_ key: String, orInsert value: @autoclosure () -> Value) -> (key: String, value: Value)? {
        uses += 1
        if entries[key] != nil {
            entries[key]!.used = uses
            return nil
        }
        var gone: (key: String, value: Value)?
        if entries.count >= capacity, let oldest = entries.min(by: { $0.value.used < $1.value.used }) {
            entries[oldest.key] = nil
            gone = (oldest.key, oldest.value.value)
        }
        entries[key] = Entry(value: value(), used: uses)
        return gone
    }

    var leastRecentFirst: [(key: String, value: Value)] {
        entries.sorted { $0.value.used < $1.value.used }.map { ($0.key, $0.value.value) }
    }

    func visit(_ body: (String, Value) -> Void) { for (key, entry) in entries { body(key, entry.value) } }
}
