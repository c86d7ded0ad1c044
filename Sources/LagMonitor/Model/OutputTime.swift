internal import Glibc

/// One moment on both clocks.
public struct OutputTime: Sendable, Equatable {
    /// Wall clock, nanoseconds since 1970.
    public var realtimeNanoseconds: Int64
    /// `CLOCK_MONOTONIC`, nanoseconds.
    public var monotonicNanoseconds: UInt64

    public init(realtimeNanoseconds: Int64, monotonicNanoseconds: UInt64) {
        self.realtimeNanoseconds = realtimeNanoseconds
        self.monotonicNanoseconds = monotonicNanoseconds
    }

    /// Both clocks, read now.
    package static func now() -> OutputTime {
        OutputTime(
            realtimeNanoseconds: Int64(clamping: nanoseconds(CLOCK_REALTIME)),
            monotonicNanoseconds: nanoseconds(CLOCK_MONOTONIC)
        )
    }

    private static func nanoseconds(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
