internal import Foundation
import Glibc

/// How the calling thread spends its time.
enum ThreadClock {
    /// On a processor, or ready and waiting for one: the first two figures of `schedstat`.
    static var runnable: Duration {
        let text = (try? String(contentsOfFile: "/proc/thread-self/schedstat", encoding: .utf8)) ?? ""
        return text.split(separator: " ").prefix(2).compactMap { Int64($0) }.reduce(.zero) { $0 + .nanoseconds($1) }
    }

    /// How often it has gone to sleep by itself (`ru_nvcsw`; the overlay of glibc lacks `RUSAGE_THREAD`).
    static var sleeps: Int {
        var usage = rusage()
        getrusage(__rusage_who_t(1), &usage)
        return usage.ru_nvcsw
    }

    /// On a processor.
    static var cpu: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
