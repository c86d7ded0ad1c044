internal import Glibc
internal import LagMonitor

// Helpers for the scenarios' other threads. None runs on the stalled thread during the stall.

/// The message for an errno.
func reasonText(_ code: Int32) -> String { String(cString: strerror(code)) }

/// Starts a thread of this name that runs `work` and ends.
func helper(_ name: String, _ work: @escaping @Sendable () -> Void) throws {
    try ObservedRunLoop.performInBackground(name: name, work)
}

/// Sleeps until `end`.
func rest(until end: MonotonicTime) {
    var time = timespec(tv_sec: Int(end.nanoseconds / 1_000_000_000), tv_nsec: Int(end.nanoseconds % 1_000_000_000))
    while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
}
