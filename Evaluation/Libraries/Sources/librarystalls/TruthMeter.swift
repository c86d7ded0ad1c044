internal import CLibraryStalls
internal import Foundation
internal import Glibc

/// The stalled thread's own clocks for the stall. Has the same members as the parent's type of this name, except the run delay:
/// the monitor reads it from the same file, so an error there would not be detected.
struct Truth: Codable, Sendable {
    let startMonoUs: UInt64
    let durationMs: Double
    /// The longest duration that the loop can have seen: from the loop's reading of the clock before the callout to its reading
    /// after the callout. If the thread loses its processor between one of these readings and the callout's own, the loop is
    /// stalled for longer than the callout measures.
    var longestMs: Double?
    let cpuMs: Double
    let systemMs: Double
    let minorFaults: Int
    let majorFaults: Int
}

/// Reads the clocks of the calling thread, at the start and at the end of the stall.
struct TruthMeter {
    private let usage = thread_usage()
    private let cpu = thread_cpu_time()
    private let begin = moment_now()

    func end() -> Truth {
        let now = moment_now()
        let cpuNow = thread_cpu_time()
        let usageNow = thread_usage()
        return Truth(
            startMonoUs: begin / 1_000,
            durationMs: Double(now - begin) / 1e6,
            cpuMs: Double(cpuNow - cpu) / 1e6,
            systemMs: Self.milliseconds(usageNow.ru_stime) - Self.milliseconds(usage.ru_stime),
            minorFaults: usageNow.ru_minflt - usage.ru_minflt,
            majorFaults: usageNow.ru_majflt - usage.ru_majflt
        )
    }

    private static func milliseconds(_ time: timeval) -> Double { Double(time.tv_sec) * 1e3 + Double(time.tv_usec) / 1e3 }
}

/// The last line of a process that stalled; `began` comes before, if requested. Has the same cases as the parent's type of this
/// name.
enum ChildReport: Codable, Sendable {
    case began
    case measured(Truth)
    case skipped(String)
}

extension ChildReport {
    func print() throws { try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(self) + Data("\n".utf8)) }
}
