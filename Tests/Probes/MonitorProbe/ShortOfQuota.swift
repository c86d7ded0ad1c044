import Glibc
import LagMonitor
import TestSupport

/// In a control group with a fifth of a processor: a callback that computes for 60 ms is a stall of 300, the quota's part is in
/// the record, and a loop that waits meanwhile has no stall. Needs a third of a processor at times.
enum ShortOfQuota {
    private static let computing: UInt64 = 60_000_000

    static func check() throws {
        guard let first = Group(1), let second = Group(2) else {
            return print("not tested: no permission to make a group with a quota")
        }
        defer {
            Group.leave()
            first.remove()
            second.remove()
        }
        if !first.enter() { return print("not tested: the process cannot be moved") }
        let (reported, monitor, thread) = try Probe.watchedThread()
        let idle = try KeepAliveThread(name: "idle")
        try monitor.watch(idle.loop)

        let one = stall(thread, reported, count: 1)
        guard let throttled = one.evidence.throttledNanoseconds, let delay = one.evidence.runDelayNanoseconds else {
            Probe.fail("\(one)")
        }
        if one.cause != .runqueue || throttled > delay || throttled < one.durationNanoseconds / 8 { Probe.fail("\(one)") }
        if !one.message.contains("CPU quota") { Probe.fail(one.message) }
        if one.excludedNanoseconds ?? 0 > one.durationNanoseconds / 4 { Probe.fail("\(one)") }
        if monitor.statistics.pauses.throttled == .zero { Probe.fail("\(monitor.statistics.pauses)") }

        // The first record after the move detects it; it contains no counters of other groups.
        if !second.enter() { Probe.fail("the process cannot be moved again") }
        let two = stall(thread, reported, count: 2)
        if two.evidence.throttledNanoseconds != nil { Probe.fail("\(two)") }
        // The counters read before a stall may once more be the former group's.
        var (count, next) = (3, stall(thread, reported, count: 3))
        while next.evidence.throttledNanoseconds == nil, count < 6 {
            count += 1
            next = stall(thread, reported, count: count)
        }
        if next.evidence.throttledNanoseconds ?? 0 < next.durationNanoseconds / 8 { Probe.fail("\(count): \(next)") }
        monitor.stop()
        if reported.records.count != count { Probe.fail("\(reported.records)") }
    }

    private static func stall(_ thread: KeepAliveThread, _ reported: CollectedRecords, count: Int) -> StallRecord {
        let begin = MonotonicTime.now.nanoseconds
        thread.perform {
            let end = cpuNanoseconds() + computing
            while cpuNanoseconds() < end {}
        }
        if !eventually({ reported.records.count == count }) { Probe.fail("\(reported.records.count) records, not \(count)") }
        let wall = MonotonicTime.now.nanoseconds - begin
        let record = reported.records[count - 1]
        if record.durationNanoseconds < 2 * computing || record.durationNanoseconds > wall { Probe.fail("\(wall) ns: \(record)") }
        return record
    }

    private static func cpuNanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// A group created for this, of version 1 or 2.
    private struct Group {
        private let path: String

        private static let parents = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"]

        init?(_ number: Int) {
            for (parent, quota) in zip(Self.parents, [("cpu.cfs_quota_us", "20000"), ("cpu.max", "20000 100000")]) {
                let path = "\(parent)/lagmonitor-probe-\(getpid())-\(number)"
                guard mkdir(path, 0o755) == 0 else { continue }
                if Self.write(quota.1, to: "\(path)/\(quota.0)") {
                    self.path = path
                    return
                }
                rmdir(path)
            }
            return nil
        }

        func enter() -> Bool { Self.write("\(getpid())", to: "\(path)/cgroup.procs") }

        static func leave() { for parent in parents { _ = write("\(getpid())", to: "\(parent)/cgroup.procs") } }

        func remove() { _ = eventually { rmdir(path) == 0 || errno == ENOENT } }

        private static func write(_ text: String, to path: String) -> Bool {
            let descriptor = open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return false }
            defer { close(descriptor) }
            return Glibc.write(descriptor, text, text.utf8.count) == text.utf8.count
        }
    }
}
