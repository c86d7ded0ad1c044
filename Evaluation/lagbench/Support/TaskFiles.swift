internal import Foundation

/// The kernel's data on this process and its threads, for measurements.
enum TaskFiles {
    /// A thread's CPU time in nanoseconds (`schedstat`, proc(5)).
    static func processorNanoseconds(tid: Int32) -> UInt64? {
        read("task/\(tid)/schedstat")?.split(separator: " ").first.flatMap { UInt64($0) }
    }

    /// The number of a thread's voluntary context switches (it waits), and of involuntary ones (it is preempted).
    static func switches(tid: Int32) -> (voluntary: UInt64, involuntary: UInt64)? {
        guard let status = read("task/\(tid)/status"), let voluntary = number("voluntary_ctxt_switches", in: status),
            let involuntary = number("nonvoluntary_ctxt_switches", in: status)
        else { return nil }
        return (voluntary, involuntary)
    }

    /// The kernel's id of this process's thread of that name, if there is exactly one.
    static func thread(named name: String) -> Int32? {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        let found = tasks.filter { read("task/\($0)/comm")?.trimmingCharacters(in: .newlines) == name }
        return found.count == 1 ? Int32(found[0]) : nil
    }

    /// Resident memory in kB: summed over all mappings, and therefore exact (`VmRSS` is a counter that is updated in batches).
    static func residentKilobytes() -> UInt64? { read("smaps_rollup").flatMap { number("Rss", in: $0) } }

    private static func read(_ name: String) -> String? {
        try? String(contentsOfFile: "/proc/self/\(name)", encoding: .utf8)
    }

    private static func number(_ key: String, in text: String) -> UInt64? {
        for line in text.split(separator: "\n") where line.hasPrefix("\(key):") {
            return line.split(whereSeparator: { " \t:".contains($0) }).dropFirst().first.flatMap { UInt64($0) }
        }
        return nil
    }
}
