internal import Dispatch

extension MonotonicTime {
    public static var now: MonotonicTime { MonotonicTime(nanoseconds: DispatchTime.now().uptimeNanoseconds) }
}
