internal import Glibc

/// What a field said last, by the stalls' times, and whether it ever said something else. The order of reading makes no difference: of two
/// of the same time the one that is first as text stays.
package struct LatestText: Sendable {
    package private(set) var text: [UInt8] = []
    /// Of lines that have the field at all.
    package private(set) var hasOthers = false
    private var time = Int64.min

    mutating func add(_ new: UnsafeBufferPointer<UInt8>, time newTime: Int64) {
        let new = new.cut(GroupTable.maximumTextBytes)
        let isSame = new.count == text.count && (new.isEmpty || memcmp(new.baseAddress!, text, new.count) == 0)
        if !isSame, !new.isEmpty, !text.isEmpty { hasOthers = true }
        guard newTime >= time else { return }
        let isNewer = newTime > time
        time = newTime
        if !isSame, isNewer || text.isEmpty || new.lexicographicallyPrecedes(text) { text = Array(new) }
    }

    mutating func add(_ other: LatestText) {
        guard other.time != .min else { return }
        other.text.withUnsafeBufferPointer { add($0, time: other.time) }
        hasOthers = hasOthers || other.hasOthers
    }
}
