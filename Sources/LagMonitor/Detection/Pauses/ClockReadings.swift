internal import Glibc

/// The three clocks of the kernel, read at (nearly) the same moment; ``ClockWatch`` compares two of these.
///
/// What changes them differs (`clock_gettime(2)`): all three run at the same rate, even while NTP slews it; only `CLOCK_BOOTTIME`
/// and `CLOCK_REALTIME` advance through a suspension, and only `CLOCK_REALTIME` is ever set.
package struct ClockReadings: Sendable, Equatable {
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    package let monotonic: UInt64
    /// `CLOCK_BOOTTIME`, in nanoseconds: `CLOCK_MONOTONIC` and the suspensions.
    package let boottime: UInt64
    /// `CLOCK_REALTIME`, in nanoseconds since 1970.
    package let realtime: Int64
    /// How long reading the clocks took, in nanoseconds: the readings may be this far apart.
    package let spread: UInt64

    package init(monotonic: UInt64, boottime: UInt64, realtime: Int64, spread: UInt64 = 0) {
        self.monotonic = monotonic
        self.boottime = boottime
        self.realtime = realtime
        self.spread = spread
    }

    /// The reader may be interrupted between two clocks, even for seconds, which would look like a step or a suspension. So a
    /// reading that took longer than this is repeated,
    static let goodSpreadNanoseconds: UInt64 = 5_000
    /// this often at most, and the closest one is used.
    static let attempts = 8

    /// The current readings. About 0.1 µs (four vDSO calls), a little more if it is disturbed; any thread, no lock, no
    /// allocation.
    package static var now: ClockReadings {
        var best = once()
        for _ in 1..<attempts where best.spread > goodSpreadNanoseconds {
            let next = once()
            if next.spread < best.spread { best = next }
        }
        return best
    }

    /// The boot time is read first and last, because only it shows every kind of gap between the others.
    private static func once() -> ClockReadings {
        let boottime = nanoseconds(CLOCK_BOOTTIME)
        let monotonic = nanoseconds(CLOCK_MONOTONIC)
        let realtime = nanoseconds(CLOCK_REALTIME)
        let end = nanoseconds(CLOCK_BOOTTIME)
        return ClockReadings(
            monotonic: UInt64(clamping: monotonic),
            boottime: UInt64(clamping: boottime),
            realtime: realtime,
            spread: UInt64(clamping: end &- boottime)
        )
    }

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
