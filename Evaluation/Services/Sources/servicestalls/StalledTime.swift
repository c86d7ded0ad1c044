internal import Foundation
internal import LagMonitor
internal import Synchronization

/// The stalled thread's own clocks for the stall. Has the same members as the type of this name in `lagdiagnosis`, except the run
/// delay, which is only in a file that the monitor also reads.
struct Truth: Codable, Sendable {
    let startMonoUs: UInt64
    let durationMs: Double
    let cpuMs: Double
    let systemMs: Double
    let minorFaults: Int
    let majorFaults: Int
    let threadID: Int32
}

/// The last line of a process that stalled. Has the same case as the type of this name in `lagdiagnosis`.
enum ChildReport: Codable, Sendable {
    case measured(Truth)
}

/// The time of the process's only stall. The stalling code calls `begin` first and `end` last, on its thread.
enum StalledTime {
    private struct Reading {
        let thread = ThreadIdentity.current.tid
        let usage: rusage
        let clock: UInt64

        init() {
            var usage = rusage()
            // RUSAGE_THREAD, which the Glibc module lacks. The sum of its two times is as exact as the thread's clock.
            getrusage(__rusage_who_t(1), &usage)
            self.usage = usage
            clock = MonotonicTime.now.nanoseconds
        }

        var systemMs: Double { milliseconds(usage.ru_stime) }
        var cpuMs: Double { systemMs + milliseconds(usage.ru_utime) }

        private func milliseconds(_ time: timeval) -> Double { Double(time.tv_sec) * 1e3 + Double(time.tv_usec) / 1e3 }
    }

    /// The readings at the beginning and at the end.
    private static let readings = Mutex<[Reading]>([])

    @inline(never) static func begin() { readings.withLock { $0 = [Reading()] } }

    @inline(never) static func end() {
        let end = Reading()
        readings.withLock { $0.append(end) }
    }

    /// nil if there was no stall.
    static func truth(within limit: Duration) -> Truth? {
        let end = ContinuousClock.now + limit
        while ContinuousClock.now < end {
            let readings = readings.withLock { $0 }
            if readings.count == 2 { return truth(readings[0], readings[1]) }
            usleep(10_000)
        }
        return nil
    }

    private static func truth(_ begin: Reading, _ end: Reading) -> Truth {
        Truth(
            startMonoUs: begin.clock / 1_000,
            durationMs: Double(end.clock - begin.clock) / 1e6,
            cpuMs: end.cpuMs - begin.cpuMs,
            systemMs: end.systemMs - begin.systemMs,
            minorFaults: end.usage.ru_minflt - begin.usage.ru_minflt,
            majorFaults: end.usage.ru_majflt - begin.usage.ru_majflt,
            threadID: begin.thread
        )
    }
}

/// The time at which work ends.
struct Deadline: Sendable {
    private let end: UInt64

    init(_ milliseconds: Int) { end = MonotonicTime.now.nanoseconds + UInt64(milliseconds) * 1_000_000 }

    @inline(__always) var isOver: Bool { MonotonicTime.now.nanoseconds >= end }
}

/// Uses a result, so that the optimiser does not remove its computation.
@inline(never) func keep(_ value: Int) { kept.add(value & 1, ordering: .relaxed) }

private let kept = Atomic<Int>(0)

/// Sleeps inside the calling function of the program.
@inline(__always) func sleep(milliseconds: Int) { usleep(UInt32(milliseconds) * 1_000) }
