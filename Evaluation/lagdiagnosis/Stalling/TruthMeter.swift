internal import Foundation
internal import Glibc
internal import LagMonitor
internal import StallFixtures

/// The kernel's clocks and counters for the stall, read by the stalled thread itself at the start and at the end of the stall.
struct Truth: Codable, Sendable {
    /// `CLOCK_MONOTONIC` at the beginning.
    var startMonoUs: UInt64
    var durationMs: Double
    /// The longest duration that the loop can have seen, if the loop's readings before and after the callout are known.
    var longestMs: Double?
    /// `CLOCK_THREAD_CPUTIME_ID`.
    var cpuMs: Double
    /// The kernel's part of it, as `getrusage` divides it.
    var systemMs: Double
    /// From the thread's `schedstat`; nil if the kernel does not keep it.
    var runDelayMs: Double?
    var minorFaults: Int
    var majorFaults: Int
    /// The stalled thread, if a program with several watched threads reports it.
    var threadID: Int32?

    /// Whether it overlaps the time of a record of its thread.
    func overlaps(_ record: StallLine) -> Bool {
        if let threadID, let said = record.fields.threadId, said != threadID { return false }
        let (start, end) = (Double(startMonoUs), Double(startMonoUs) + durationMs * 1e3)
        let begin = Double(record.fields.monoUs)
        return begin < end && begin + (record.fields.durationMs ?? 0) * 1e3 > start
    }

    /// Neither running nor runnable.
    var blockedMs: Double { durationMs - cpuMs - (runDelayMs ?? 0) }
    /// Whether the thread slept for most of the time.
    var isMostlyBlocked: Bool { blockedMs > durationMs / 2 }

    /// Whether other processes used the processor for so long that the scenario did not happen as intended.
    var isDisturbed: Bool { (runDelayMs ?? 0) > durationMs * Self.toleratedRunDelay }
    private static let toleratedRunDelay = 0.25
}

/// Reads the counters of the calling thread.
struct TruthMeter {
    private let begin: MonotonicTime
    private let cpu: Int64
    private let runDelay: Int64?
    private let usage: rusage

    /// Begins the measurement.
    init() {
        runDelay = Self.readRunDelay()
        usage = corpus_thread_usage()
        cpu = Self.readCPU()
        begin = .now
    }

    /// Ends the measurement; on the same thread.
    func end() -> Truth {
        let now = MonotonicTime.now
        let cpuNow = Self.readCPU()
        let usageNow = corpus_thread_usage()
        let runDelayNow = Self.readRunDelay()
        return Truth(
            startMonoUs: begin.nanoseconds / 1_000,
            durationMs: Self.milliseconds((now - begin).wholeNanoseconds),
            cpuMs: Self.milliseconds(cpuNow - cpu),
            systemMs: Self.milliseconds(of: usageNow.ru_stime) - Self.milliseconds(of: usage.ru_stime),
            runDelayMs: runDelay.flatMap { before in runDelayNow.map { Self.milliseconds($0 - before) } },
            minorFaults: usageNow.ru_minflt - usage.ru_minflt,
            majorFaults: usageNow.ru_majflt - usage.ru_majflt
        )
    }

    private static func milliseconds(of time: timeval) -> Double { Double(time.tv_sec) * 1e3 + Double(time.tv_usec) / 1e3 }
    private static func milliseconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds) / 1e6 }

    private static func readCPU() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The second number of the file: nanoseconds.
    private static func readRunDelay() -> Int64? {
        guard let text = try? String(contentsOfFile: "/proc/thread-self/schedstat", encoding: .utf8) else { return nil }
        let numbers = text.split(separator: " ")
        return numbers.count > 1 ? Int64(numbers[1]) : nil
    }
}

/// The last line of a process that stalled; `began` comes before, if requested.
enum ChildReport: Codable, Sendable {
    case began
    case measured(Truth)
    case skipped(String)
}
