internal import Glibc

/// The latest value of a field, by the stalls' times, and whether it ever had another value. The result does not depend on the
/// order of reading: of two values with the same time, the alphabetically first stays.
package struct LatestText: Sendable {
    package private(set) var text: [UInt8] = []
    /// Whether lines with the field had different values.
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
