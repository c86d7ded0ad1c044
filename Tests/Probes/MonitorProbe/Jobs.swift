import Dispatch
import Foundation
import LagMonitor
import LagMonitorConcurrency
import TestSupport

/// Single threads of the pools of a separate process, while the others are free.
struct Jobs: Sendable {
    private let sink = MemorySink()
    private let monitor: StallMonitor

    /// The main thread waits, and belongs to no pool.
    static func check() {
        let done = DispatchSemaphore(value: 0)
        Task.detached(priority: .high) {
            do { try await run() } catch { Probe.fail("\(error)") }
            done.signal()
        }
        done.wait()
    }

    private static func run() async throws {
        let probe = Jobs()
        // Before the start: watched from the start on.
        let pools = try probe.monitor.watchConcurrencyPool()
        try probe.monitor.start()
        try await probe.checkQuiet()
        try await probe.checkBlocked()
        try await probe.checkKinds()
        for pool in pools { probe.monitor.unwatch(pool) }
        await Task.detached { blockInSleep() }.value
        try await probe.expect(8, "unwatched")
        try await probe.checkQueue()
        probe.monitor.stop()
    }

    private init() { monitor = StallMonitor(sinks: [sink]) }

    /// Work that releases its thread, is short, is expected, or runs where long work belongs.
    private func checkQuiet() async throws {
        // Not awaited, which would raise its priority.
        Task.detached(priority: .low) { blockInSleep() }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try? await Task.sleep(for: .milliseconds(400)) } }
            group.addTask { StallMonitor.expectingBlock { blockInSleep() } }
            group.addTask {
                for _ in 0..<2000 {
                    await Task.detached { computeShortly() }.value
                }
            }
        }
        try await expect(0, "awaiting, short, expected and low")
    }

    /// One task, five times: each is a separate stall. (The task that awaits it may raise its priority, so it is on one pool or
    /// the other.)
    private func checkBlocked() async throws {
        let lengths = try await Task.detached {
            var lengths: [Double] = []
            for number in 1...5 {
                var length = 0.0
                try await expect(number, "blocked \(number) times") { search in
                    let begun = MonotonicTime.now
                    blockInSleep(search)
                    length = (MonotonicTime.now - begun) / .milliseconds(1)
                }
                lengths.append(length)
            }
            return lengths
        }.value
        let records = try await expect(5, "blocked five times")
        for (record, length) in zip(records, lengths) {
            check(record, "blockInSleep", "syscall", in: "pool.")
            let duration = number(record, "duration_ms")
            if duration < length * 0.7 || duration > length * 1.3 + 100 { fail("\(duration) of \(length) ms: \(record)") }
            let least = number(record, "duration_min_ms")
            if least > length + 1 { fail("at least \(least) of \(length) ms: \(record)") }
        }
    }

    private func checkKinds() async throws {
        let computing = try await expect(6, "computing") { search in
            await Task.detached(priority: .high) {
                repeat { computeForLong(until: MonotonicTime.now + .milliseconds(400)) } while !search.isOver
            }.value
        }
        check(computing[5], "compute", nil, in: "pool.")
        let waiting = try await expect(7, "waiting for a semaphore") { search in
            let semaphore = DispatchSemaphore(value: 0)
            DispatchQueue(label: "late").async {
                blockInSleep(search)
                semaphore.signal()
            }
            await Task.detached { waitForDownload(semaphore) }.value
        }
        check(waiting[6], "waitForDownload", "lock", in: "pool.")
        // On an actor: its thread is a thread of the pool too.
        let acting = try await expect(8, "on an actor") { await Ledger().balance($0) }
        check(acting[7], "blockInSleep", "syscall", in: "pool.")
    }

    /// A queue that cannot be pinged.
    private func checkQueue() async throws {
        try monitor.watch(DispatchThreads(), rules: .jobs)
        let records = try await expect(9, "a private queue") { search in
            await withCheckedContinuation { blocked in
                DispatchQueue(label: "private").async {
                    blockInSleep(search)
                    blocked.resume()
                }
            }
        }
        check(records[8], "blockInSleep", "syscall", in: "queues")
    }

    /// One stall more, of `work`. On a busy machine, its search may end with a stall of the machine.
    @discardableResult
    private func expect(_ count: Int, _ what: String, of work: (StallSearch) async -> Void) async throws -> [[String: Any]] {
        for _ in Attempts(what) {
            await work(StallSearch(monitor))
            if try await hasStalls(count) { break }
        }
        return try await expect(count, what)
    }

    @discardableResult
    private func expect(_ count: Int, _ what: String) async throws -> [[String: Any]] {
        _ = try await hasStalls(count)
        // A superfluous one would come late.
        try await Task.sleep(for: .milliseconds(300))
        let records = stalls
        guard records.count == count else { fail("\(what): \(records.count) records, not \(count): \(sink.lines)") }
        return records
    }

    /// Waits for them, without blocking, and computing only for new records: this also runs on a thread of the pool.
    private func hasStalls(_ count: Int) async throws -> Bool {
        var read = -1
        for _ in 0..<5000 {
            let lines = sink.lines.count
            if lines != read, stalls.count >= count { return true }
            read = lines
            try await Task.sleep(for: .milliseconds(2))
        }
        return false
    }

    private func check(_ record: [String: Any], _ culprit: String, _ cause: String?, in loop: String) {
        if !(record["loop"] as? String ?? "").hasPrefix(loop) || record["kind"] as? String != "callout" {
            fail("loop, kind: \(record)")
        }
        if !(record["culprit"] as? String ?? "").contains(culprit) { fail("culprit: \(record)") }
        if let cause, record["cause"] as? String != cause { fail("cause: \(record)") }
    }

    private var stalls: [[String: Any]] {
        sink.lines.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
            .filter { $0["event"] as? String == "stall" && !isOfTheMachine($0) }
    }

    /// Stalls caused by a busy machine: short jobs that wait for a processor, and this check's own reading of the records.
    private func isOfTheMachine(_ record: [String: Any]) -> Bool {
        let cause = record["cause"] as? String ?? ""
        guard ["cpu", "runqueue", "page_fault"].contains(cause) else { return false }
        let functions = (record["frames"] as? [[String: Any]] ?? []).compactMap { $0["symbol"] as? String }
        if functions.contains(where: { $0.contains("Jobs.stalls") }) { return true }
        return cause == "runqueue" && !functions.contains { $0.contains("computeForLong") }
    }

    private func number(_ record: [String: Any], _ key: String) -> Double { (record[key] as? NSNumber)?.doubleValue ?? 0 }

    private func fail(_ message: String) -> Never { Probe.fail(message) }
}

private actor Ledger {
    func balance(_ search: StallSearch) { blockInSleep(search) }
}

/// - Parameter search: it blocks until this is over.
@inline(never) func blockInSleep(_ search: StallSearch? = nil) {
    repeat { usleep(400_000) } while search.map { !$0.isOver } ?? false
}
