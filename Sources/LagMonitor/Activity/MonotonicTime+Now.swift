internal import CLagBeacon

extension MonotonicTime {
    /// The current time. About 25 ns, no system call (vDSO); any thread.
    public static var now: MonotonicTime { MonotonicTime(nanoseconds: clb_now_ns()) }
}
