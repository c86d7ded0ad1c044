internal import Foundation
import Glibc

/// The time use of the calling thread.
enum ThreadClock {
    /// Time running or waiting for a processor: the first two figures of `schedstat`.
    static var runnable: Duration {
        let text = (try? String(contentsOfFile: "/proc/thread-self/schedstat", encoding: .utf8)) ?? ""
        return text.split(separator: " ").prefix(2).compactMap { Int64($0) }.reduce(.zero) { $0 + .nanoseconds($1) }
    }

    /// The number of voluntary context switches (`ru_nvcsw`; Swift's Glibc module lacks `RUSAGE_THREAD`).
    static var sleeps: Int {
        var usage = rusage()
        getrusage(__rusage_who_t(1), &usage)
        return usage.ru_nvcsw
    }

    /// Time running on a processor.
    static var cpu: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
