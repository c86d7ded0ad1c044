/// A point on `CLOCK_MONOTONIC`, in nanoseconds: the only clock of this package.
///
/// It does not follow the wall clock, so setting the wall clock has no effect on it. It does not advance while the machine is
/// suspended.
public struct MonotonicTime: Sendable, Hashable, Comparable {
    /// Nanoseconds since an unspecified start (the boot, on Linux).
    public let nanoseconds: UInt64

    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// A time that never comes.
    public static let distantFuture = MonotonicTime(nanoseconds: .max)

    public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Later by `duration` (earlier when negative); saturates at the ends instead of wrapping around.
    public static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let nanoseconds = duration.wholeNanoseconds
        if nanoseconds >= 0 {
            let (sum, overflow) = time.nanoseconds.addingReportingOverflow(UInt64(nanoseconds))
            return MonotonicTime(nanoseconds: overflow ? .max : sum)
        }
        let back = nanoseconds.magnitude
        return MonotonicTime(nanoseconds: back > time.nanoseconds ? 0 : time.nanoseconds - back)
    }

    /// How much later `left` is than `right`; negative when it is earlier.
    public static func - (left: MonotonicTime, right: MonotonicTime) -> Duration {
        left >= right
            ? .nanoseconds(Int64(clamping: left.nanoseconds - right.nanoseconds))
            : .nanoseconds(-Int64(clamping: right.nanoseconds - left.nanoseconds))
    }
}

extension Duration {
    /// This duration in nanoseconds, saturating (at 292 years).
    package var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, overflowed) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflowed ? (seconds < 0 ? .min : .max) : sum
    }
}
