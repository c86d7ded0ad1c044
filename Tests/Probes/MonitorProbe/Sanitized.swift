import Dispatch
import Glibc
import LagMonitor
import Synchronization
import TestSupport

/// What an embedding program does, all at once and from several threads: loops that stall in different ways, loops that are
/// created and ended, readers of statistics, changing settings, and starts and stops.
///
/// For builds with a sanitiser, which finds what this alone cannot (`make sanitize`); each stall is still counted.
enum Sanitized {
    private static let stallsPerLoop = 6
    private static let stallMicroseconds: UInt32 = 300_000

    static func check() throws {
        for _ in 0..<2 { try run() }
    }

    private static func run() throws {
        let (reported, monitor) = (CollectedRecords(), Probe.quickMonitor(sinks: [MemorySink()]))
        monitor.onStall(queue: .global()) { reported.add($0) }
        try monitor.start()
        let threads = try (0..<3).map { try KeepAliveThread(name: "sanitized-\($0)") }
        for thread in threads { try monitor.watch(thread.loop) }
        let isOver = Atomic<Bool>(false)
        let group = DispatchGroup()
        startChurn(monitor, group)
        DispatchQueue.global().async(group: group) {
            while !isOver.load(ordering: .acquiring) {
                _ = monitor.statistics
                usleep(2000)
            }
        }
        for round in 0..<stallsPerLoop {
            for (number, thread) in threads.enumerated() { thread.perform { stall(round + number) } }
            usleep(2 * stallMicroseconds)
        }
        let expected = threads.count * stallsPerLoop
        if !eventually(seconds: 60, { reported.records.count >= expected }) {
            Probe.fail("\(reported.records.count) of \(expected) stalls: \(monitor.statistics)")
        }
        isOver.store(true, ordering: .releasing)
        group.wait()
        monitor.stop()
        if reported.records.contains(where: { $0.durationNanoseconds < UInt64(stallMicroseconds) * 500 }) {
            Probe.fail("a stall of less than half its length")
        }
    }

    /// Asleep, computing and waiting for a lock in turn: a capture without a signal, one with, and an owner. At most ten of one
    /// place would be reported.
    private static func stall(_ kind: Int) {
        switch kind % 3 {
        case 0: sleep()
        case 1: compute()
        default: wait()
        }
    }

    @inline(never) private static func sleep() {
        usleep(stallMicroseconds)
    }

    @inline(never) private static func compute() {
        let end = MonotonicTime.now + .microseconds(Int(stallMicroseconds))
        while MonotonicTime.now < end {}
    }

    @inline(never) private static func wait() {
        let semaphore = DispatchSemaphore(value: 0)
        _ = semaphore.wait(timeout: .now() + .microseconds(Int(stallMicroseconds)))
    }

    /// Loops that are watched, stall for too short a time, and end.
    private static func startChurn(_ monitor: StallMonitor, _ group: DispatchGroup) {
        for number in 0..<2 {
            DispatchQueue.global().async(group: group) {
                for _ in 0..<12 {
                    guard let thread = try? KeepAliveThread(name: "churn-\(number)") else { Probe.fail("no thread") }
                    guard (try? monitor.watch(thread.loop)) != nil else { Probe.fail("no watch") }
                    thread.perform { usleep(20_000) }
                    usleep(60_000)
                    monitor.unwatch(thread.loop)
                    thread.stop()
                }
            }
        }
    }
}
