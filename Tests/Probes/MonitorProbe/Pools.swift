import Dispatch
import Foundation
import LagMonitor
import LagMonitorConcurrency
import TestSupport

/// The pools of a separate process, blocked and busy in all of their threads.
struct Pools {
    private let sink = MemorySink()
    private let released = DispatchSemaphore(value: 0)

    static func check() throws {
        let probe = Pools()
        let monitor = StallMonitor(sinks: [probe.sink])
        try monitor.start()
        let all: [TaskPriority] = [.high, .medium, .low, .background]
        let pools = try monitor.watchConcurrencyPool(all, rules: .pings)
        probe.checkMasks()
        probe.stayQuiet()
        for pool in pools { monitor.unwatch(pool) }
        var rules = StallRules.pings
        rules.ping = .init(interval: .milliseconds(100), timeouts: 3)
        try monitor.watchConcurrencyPool(all, rules: rules)
        try probe.blockAll(StallSearch(monitor))
        try probe.blockAndCompute(StallSearch(monitor))
        monitor.stop()
    }

    /// The first thread of each pool is started by a ping: it must be like any other.
    private func checkMasks() {
        let signals = [SIGPROF, SIGSEGV, SIGPIPE]
        var masks: [UInt64] = []
        // A thread that starts or exits has every signal blocked for a moment.
        for _ in 0..<5000 {
            masks = Self.masksOfPools()
            if masks.count >= 4, masks.allSatisfy({ mask in signals.allSatisfy { mask >> ($0 - 1) & 1 == 0 } }) { return }
            usleep(2000)
        }
        fail("signals that \(masks.count) threads of pools block: \(masks.map { String($0, radix: 16) })")
    }

    private static func masksOfPools() -> [UInt64] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return threads.compactMap { tid in
            let status = (try? String(contentsOfFile: "/proc/self/task/\(tid)/status", encoding: .utf8)) ?? ""
            let lines = status.split(separator: "\n")
            guard lines.first?.hasSuffix("-qos") == true else { return nil }
            let mask = lines.first { $0.hasPrefix("SigBlk:") }?.split(separator: "\t").last ?? ""
            return UInt64(mask, radix: 16)
        }
    }

    /// Tasks that are created and end keep every pool busy, and starve none.
    private func stayQuiet() {
        let seconds = ProcessInfo.processInfo.environment["LAGMONITOR_QUIET_SECONDS"].flatMap(Double.init) ?? 3
        let end = MonotonicTime.now + .milliseconds(Int(seconds * 1000))
        while MonotonicTime.now < end {
            for priority in [TaskPriority.high, .medium, .low, .background] {
                Task.detached(priority: priority) { computeShortly() }
            }
            usleep(4000)
        }
        if !stalls.isEmpty { fail("records of a quiet time: \(sink.lines)") }
    }

    /// Semaphores in tasks: every thread of a pool waits for work that only a task of that pool would do.
    private func blockAll(_ search: StallSearch) throws {
        let count = processors + 2
        for _ in 0..<count { Task.detached { [released] in waitForDownload(released) } }
        repeat { usleep(1_000_000) } while !search.isOver
        for _ in 0..<count { released.signal() }
        let record = try expect(1, "waitForDownload", in: "pool.medium")
        if record["cause"] as? String != "lock" || record["lock_kind"] as? String != "semaphore" { fail("cause: \(record)") }
        let threads = groups(record).flatMap { $0.threads }
        if Set(threads).count != processors || threads.count != processors { fail("threads: \(record)") }
        if !threads.contains((record["thread_id"] as? NSNumber)?.intValue ?? 0) { fail("thread: \(record)") }
    }

    /// One computes, the others wait: each with its own stack.
    private func blockAndCompute(_ search: StallSearch) throws {
        guard processors > 1 else { return }
        Task.detached(priority: .high) {
            repeat { computeForLong(until: MonotonicTime.now + .milliseconds(2500)) } while !search.isOver
        }
        for _ in 1..<processors { Task.detached(priority: .high) { [released] in waitForDownload(released) } }
        repeat { usleep(2_500_000) } while !search.isOver
        for _ in 1..<processors { released.signal() }
        let record = try expect(2, nil, in: "pool.high")
        let groups = groups(record)
        let own = (record["frames"] as? [[String: Any]] ?? []).compactMap { $0["symbol"] as? String }
        let stacks = [own] + groups.map(\.symbols).filter { !$0.isEmpty }
        for function in ["computeForLong", "waitForDownload"]
        where !stacks.contains(where: { $0.contains { $0.contains(function) } }) {
            fail("no stack with \(function): \(record)")
        }
        if groups.flatMap(\.threads).count != processors { fail("threads: \(record)") }
    }

    private var processors: Int { ProcessInfo.processInfo.activeProcessorCount }

    private var stalls: [[String: Any]] {
        sink.lines.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
            .filter { $0["event"] as? String == "stall" }
    }

    private func groups(_ record: [String: Any]) -> [(threads: [Int], symbols: [String])] {
        (record["workers"] as? [[String: Any]] ?? []).map { group in
            let frames = group["frames"] as? [[String: Any]] ?? []
            return ((group["thread_ids"] as? [Int]) ?? [], frames.compactMap { $0["symbol"] as? String })
        }
    }

    private func expect(_ count: Int, _ culprit: String?, in loop: String) throws -> [String: Any] {
        for _ in 0..<5000 where stalls.count < count { usleep(2000) }
        let records = stalls
        guard records.count == count, let record = records.last else { fail("\(records.count) records: \(sink.lines)") }
        if record["loop"] as? String != loop || record["kind"] as? String != "ping" { fail("loop, kind: \(record)") }
        if let culprit, !(record["culprit"] as? String ?? "").contains(culprit) { fail("culprit: \(record)") }
        return record
    }

    private func fail(_ message: String) -> Never { Probe.fail(message) }
}

@inline(never) func waitForDownload(_ semaphore: DispatchSemaphore) { semaphore.wait() }

@inline(never) func computeShortly() { compute(until: MonotonicTime.now + .microseconds(200)) }

@inline(never) func computeForLong(until end: MonotonicTime) { compute(until: end) }

private func compute(until end: MonotonicTime) {
    var value: UInt64 = 1
    while MonotonicTime.now < end { for index in 0..<1000 { value = (value &* 31) ^ UInt64(index) } }
    withExtendedLifetime(value) {}
}
