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
}
