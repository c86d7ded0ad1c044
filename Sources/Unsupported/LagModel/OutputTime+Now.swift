internal import Dispatch

extension OutputTime {
    /// Nothing is written on these platforms: the wall clock is not read.
    package static func now() -> OutputTime {
        OutputTime(realtimeNanoseconds: 0, monotonicNanoseconds: DispatchTime.now().uptimeNanoseconds)
    }
}
