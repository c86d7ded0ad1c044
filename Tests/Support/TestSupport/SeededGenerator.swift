internal import Glibc

/// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers for the same seed on every machine, so that a failure can be
/// repeated.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Seeds for the arguments of a test, so that a failure names its seed: these, and one from the clock, which is new in each
    /// run.
    public static func seeds(_ fixed: UInt64...) -> [UInt64] {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return fixed + [UInt64(time.tv_sec) * 1000 + UInt64(time.tv_nsec) / 1_000_000]
    }

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
