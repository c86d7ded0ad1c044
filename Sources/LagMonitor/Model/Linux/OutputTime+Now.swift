internal import CLagBeacon

extension OutputTime {
    /// Both clocks, read now.
    package static func now() -> OutputTime {
        OutputTime(realtimeNanoseconds: clb_realtime_ns(), monotonicNanoseconds: clb_now_ns())
    }
}
