internal import Foundation
internal import Glibc

/// How long threads of this process were runnable without a processor, by the kernel's count.
enum RunDelay {
    /// The sums for the main thread and the watchdog, since each started. Nanoseconds.
    static var ofLoopAndWatchdog: UInt64 {
        let tids = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tids.reduce(0) { sum, tid in
            let name = (try? String(contentsOfFile: "/proc/self/task/\(tid)/comm", encoding: .utf8)) ?? ""
            guard tid == "\(getpid())" || name.hasPrefix("lag-watchdog") else { return sum }
            // Time on a processor, time waiting for one, number of time slices.
            let figures = (try? String(contentsOfFile: "/proc/self/task/\(tid)/schedstat", encoding: .utf8)) ?? ""
            return sum + (figures.split(separator: " ").dropFirst().first.flatMap { UInt64($0) } ?? 0)
        }
    }
}
