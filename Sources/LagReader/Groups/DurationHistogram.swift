internal import LagModel

/// A histogram of durations, with buckets that grow with the value: the error of a percentile is at most ``relativeError``.
///
/// After HdrHistogram (Gil Tene): each octave of microseconds has 128 buckets, below 256 µs every microsecond has its own. Unlike
/// it, this keeps only non-empty buckets, so that a hundred thousand groups fit in memory: 8 bytes for each bucket in use, or,
/// once there are many, 4 for each in the range.
package struct DurationHistogram: Sendable {
    /// Half a bucket's width: a percentile is given as the bucket's middle.
    package static let relativeError = 1.0 / 256
    private static let bucketBits = 7
    /// Above this, an array of all buckets in the range is smaller and faster.
    private static let maximumPairs = 48

    private struct Pair: Sendable {
        var bucket: UInt32
        var count: UInt32
    }

    package private(set) var count: UInt64 = 0
    /// Sorted by bucket, until there are too many.
    private var pairs: ContiguousArray<Pair> = []
    private var window: ContiguousArray<UInt32> = []
    private var windowStart = 0

    package init() {}

    package mutating func add(nanoseconds: UInt64) { add(bucket: Self.bucket(nanoseconds / 1000), times: 1) }

    package mutating func add(_ other: DurationHistogram) {
        for pair in other.pairs { add(bucket: Int(pair.bucket), times: pair.count) }
        for (index, times) in other.window.enumerated() where times > 0 { add(bucket: other.windowStart + index, times: times) }
    }

    /// The duration that a share (0…1) of all does not exceed; 0 if there are none.
    package func nanoseconds(atShare share: Double) -> UInt64 {
        let wanted = max(1, UInt64((share * Double(count)).rounded(.up)))
        var sum: UInt64 = 0
        for pair in pairs {
            sum += UInt64(pair.count)
            if sum >= wanted { return Self.nanoseconds(Int(pair.bucket)) }
        }
        for (index, times) in window.enumerated() {
            sum += UInt64(times)
            if sum >= wanted { return Self.nanoseconds(windowStart + index) }
        }
        return 0
    }

    private mutating func add(bucket: Int, times: UInt32) {
        count += UInt64(times)
        if !window.isEmpty { return addToWindow(bucket, times) }
        var low = 0
        var high = pairs.count
        while low < high {
            let middle = (low + high) / 2
            if pairs[middle].bucket < bucket { low = middle + 1 } else { high = middle }
        }
        if low < pairs.count, pairs[low].bucket == bucket {
            pairs[low].count = pairs[low].count.saturatingSum(times)
        } else if pairs.count < Self.maximumPairs {
            pairs.insert(Pair(bucket: UInt32(bucket), count: times), at: low)
        } else {
            let kept = pairs
            pairs = []
            for pair in kept { addToWindow(Int(pair.bucket), pair.count) }
            addToWindow(bucket, times)
        }
    }

    private mutating func addToWindow(_ bucket: Int, _ times: UInt32) {
        if window.isEmpty { windowStart = bucket }
        if bucket < windowStart {
            // From the octave's start, so that it does not move for each new minimum.
            let start = bucket & ~((1 << Self.bucketBits) - 1)
            window.insert(contentsOf: repeatElement(0, count: windowStart - start), at: 0)
            windowStart = start
        }
        let index = bucket - windowStart
        if index >= window.count { window.append(contentsOf: repeatElement(0, count: index + 1 - window.count)) }
        window[index] = window[index].saturatingSum(times)
    }

    /// The bucket of a number of microseconds: the position of its highest bit, and the seven bits below it.
    private static func bucket(_ microseconds: UInt64) -> Int {
        guard microseconds >= 1 << bucketBits else { return Int(microseconds) }
        let shift = 63 - bucketBits - microseconds.leadingZeroBitCount
        return (shift + 1) << bucketBits + Int(microseconds >> UInt64(shift)) & ((1 << bucketBits) - 1)
    }

    /// Saturates, because the middle of the highest bucket does not fit.
    private static func nanoseconds(_ bucket: Int) -> UInt64 {
        let (product, isTooMuch) = middle(bucket).multipliedReportingOverflow(by: 1000)
        return isTooMuch ? .max : product
    }

    private static func middle(_ bucket: Int) -> UInt64 {
        guard bucket >= 1 << bucketBits else { return UInt64(bucket) }
        let shift = UInt64(bucket >> bucketBits - 1)
        let low = UInt64(1 << bucketBits | bucket & ((1 << bucketBits) - 1)) << shift
        return low + (1 << shift) / 2
    }
}
