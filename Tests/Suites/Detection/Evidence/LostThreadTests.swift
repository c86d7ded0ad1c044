import Dispatch
import Foundation
internal import LagActivity
import Synchronization
import TestSupport
import Testing

@testable import LagDetection

/// A thread that is gone before its stall's end is reported, as when its process is killed: a real thread, with a simulated
/// clock.
struct LostThreadTests {
    /// A thread that waits until it must exit.
    private final class Waiting: Sendable {
        private let found = Mutex(ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0))
        private let began = DispatchSemaphore(value: 0)
        private let ending = DispatchSemaphore(value: 0)

        init() {
            Thread.detachNewThread { [self] in
                found.withLock { $0 = .current }
                began.signal()
                ending.wait()
            }
            began.wait()
        }

        var thread: ThreadIdentity { found.withLock { $0 } }

        /// Returns when the kernel no longer knows the thread.
        func end() -> Bool {
            ending.signal()
            return eventually { access("/proc/self/task/\(thread.tid)", F_OK) != 0 }
        }
    }

    @Test func `the usage measured at the beginning of a hang is kept, but gives no shares of the duration`() throws {
        let waiting = Waiting()
        let (bench, loop) = (try WatchdogBench(), FakeLoop(thread: waiting.thread))
        _ = bench.watch(loop, rules: .callouts(hang: 400 * millisecond))
        let begin = 2000 * millisecond
        loop.move(to: .beforeSources, at: begin)
        bench.scan(at: begin)
        bench.run(until: begin + 600 * millisecond)
        let first = try #require(bench.queue.takeReady())
        let (phase, measured) = (bench.queue.episodes[first].facts.phase, bench.queue.episodes[first].facts.usage)
        bench.queue.giveFree(first)
        #expect(phase == .begin && measured.cpuNanoseconds != nil && measured.stallNanoseconds >= 400 * millisecond)
        #expect(measured.ofStall(lasting: measured.stallNanoseconds) == measured)

        #expect(waiting.end())
        loop.move(to: .waiting, at: begin + 900 * millisecond)
        bench.scan(at: begin + 900 * millisecond)
        let last = try #require(bench.queue.takeReady())
        let facts = bench.queue.episodes[last].facts
        bench.queue.giveFree(last)
        #expect(facts.phase != .begin && facts.interval.length > measured.stallNanoseconds)
        // The cause is derived from it; shares of the duration are not.
        #expect(facts.usage == measured)
        #expect(facts.usage.ofStall(lasting: facts.interval.length) == ThreadUsage())
    }
}
