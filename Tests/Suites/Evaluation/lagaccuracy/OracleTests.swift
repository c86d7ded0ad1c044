import Dispatch
import Foundation
import LagMonitor
import LagWorkload
import Synchronization
import Testing

@testable import lagaccuracy

/// The target's own measurements, on a real loop.
@Suite(.serialized) struct OracleTests {
    /// Runs `body` with a loop and an oracle, and returns what the oracle recorded.
    private func observe(_ body: (KeepAliveThread, Oracle) throws -> Void) throws -> TargetReport {
        let thread = try KeepAliveThread(name: "oracle")
        let oracle = Oracle()
        oracle.attach(to: thread.loop)
        try thread.loop.performAndWait {}
        try body(thread, oracle)
        try thread.loop.performAndWait {}
        var report = TargetReport()
        try thread.loop.performAndWait {}
        oracle.harvest(into: &report)
        thread.stop()
        return report
    }

    private let stall = PlannedStall(kind: .sleep, place: .perform, lengthMilliseconds: 200, gapMilliseconds: 0)

    @Test func `a stall that was not injected is recorded as a gap`() throws {
        let report = try observe { thread, _ in try thread.loop.performAndWait { sleepUntil(.now + .milliseconds(200)) } }
        #expect(report.injected.isEmpty)
        #expect(report.gaps.contains { $0.end - $0.begin >= 200_000_000 })
    }

    @Test func `sleep is neither a gap nor an awake period`() throws {
        var asleep: UInt64 = 0
        let report = try observe { _, _ in
            // Longer than the minimum of both.
            sleepUntil(.now + .milliseconds(1100))
            asleep = MonotonicTime.now.nanoseconds
        }
        #expect(!report.gaps.contains { $0.begin < asleep && asleep < $0.end })
        #expect(!report.awakePeriods.contains { $0.begin < asleep && asleep < $0.end })
    }

    @Test func `time before and after the run of the loop is not recorded`() throws {
        let oracle = Oracle()
        let done = DispatchSemaphore(value: 0)
        let times = Mutex((begin: UInt64(0), end: UInt64(0)))
        let thread = Thread {
            let loop = ObservedRunLoop.current
            oracle.attach(to: loop)
            sleepUntil(.now + .milliseconds(200))
            let begin = MonotonicTime.now.nanoseconds
            loop.perform { loop.stop() }
            loop.run()
            times.withLock { $0 = (begin, MonotonicTime.now.nanoseconds) }
            done.signal()
        }
        thread.start()
        done.wait()
        // Longer than the minimum.
        sleepUntil(.now + .milliseconds(1100))
        var report = TargetReport()
        oracle.harvest(into: &report)
        let (begin, end) = times.withLock { $0 }
        #expect(report.gaps.allSatisfy { $0.begin >= begin && $0.end <= end })
        #expect(report.awakePeriods.allSatisfy { $0.begin >= begin && $0.end <= end })
    }

    @Test func `an injected stall is measured from inside and from outside`() throws {
        let report = try observe { thread, oracle in
            try thread.loop.performAndWait {
                oracle.begin(stall)
                sleepUntil(.now + .milliseconds(200))
                oracle.end()
            }
        }
        let seen = try #require(report.injected.first)
        #expect(report.injected.count == 1)
        #expect(seen.end - seen.begin >= 200_000_000)
        #expect(seen.before <= seen.begin)
        #expect(seen.after >= seen.end)
        // It is not recorded a second time as a gap.
        #expect(!report.gaps.contains { $0.begin < seen.end && seen.begin < $0.end })
    }

    @Test func `a stall in the before-waiting observer is work and the following sleep is not`() throws {
        var asleep: UInt64 = 0
        let report = try observe { thread, oracle in
            let observer = RunLoopObserver(activities: .beforeWaiting, repeats: false, order: 1000) { _, _ in
                oracle.begin(stall)
                sleepUntil(.now + .milliseconds(150))
                oracle.end()
            }
            thread.loop.add(observer, to: .common)
            sleepUntil(.now + .milliseconds(600))
            asleep = MonotonicTime.now.nanoseconds
        }
        let seen = try #require(report.injected.first)
        // The reading after the stall is before the sleep.
        #expect(seen.after < asleep)
        #expect(!report.gaps.contains { $0.begin < asleep && asleep < $0.end })
    }

    @Test func `a loop that never sleeps has an awake period`() throws {
        let report = try observe { thread, _ in
            let loop = thread.loop
            let chain = CallbackChain { work in loop.perform(work) }
            let gate = RunLoopGate()
            loop.perform { chain.run(until: .now + .milliseconds(1100)) { gate.open() } }
            gate.wait()
        }
        #expect(report.awakePeriods.contains { $0.certain >= 1_000_000_000 || $0.end - $0.begin >= 1_100_000_000 })
    }
}

/// A gate that opens once.
private final class RunLoopGate: Sendable {
    private let semaphore = RealtimeSemaphore(isFaked: true)

    func open() { semaphore.post() }
    func wait() { _ = semaphore.wait(nanoseconds: 30_000_000_000) }
}
