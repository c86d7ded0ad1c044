/// One moment on both clocks.
package struct OutputTime: Sendable, Equatable {
    /// Wall clock, nanoseconds since 1970.
    package var realtimeNanoseconds: Int64
    /// `CLOCK_MONOTONIC`, nanoseconds.
    package var monotonicNanoseconds: UInt64

    package init(realtimeNanoseconds: Int64, monotonicNanoseconds: UInt64) {
        self.realtimeNanoseconds = realtimeNanoseconds
        self.monotonicNanoseconds = monotonicNanoseconds
    }
}
