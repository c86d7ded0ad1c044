internal import CLagBeacon
internal import CLagLinux
import Dispatch
import Foundation
internal import LagActivity
import Synchronization
import Testing

@testable import LagDetection

/// What a loop's thread ran before its stall was detected: real tasks on a real thread, with a simulated clock.
@Suite(.serialized) struct EarlyReadingTests {
    /// A thread that runs the jobs of one task after the other on request, each in a context of its task.
    private final class Worker: Sendable {
        private final class InlineExecutor: TaskExecutor {
            func enqueue(_ job: consuming ExecutorJob) { UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor()) }
        }

        private let found = Mutex(ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0))
        private let began = DispatchSemaphore(value: 0)
        private let ending = DispatchSemaphore(value: 0)
        private let hasEnded = DispatchSemaphore(value: 0)

        init(_ names: [String]) {
            precondition(clb_contexts_want() != 0)
            Thread.detachNewThread { [self] in
                found.withLock { $0 = .current }
                let executor = InlineExecutor()
                for name in names {
                    Task.detached(executorPreference: executor) { await withStallContext(name: name) { await self.blockLater() } }
                }
                hasEnded.signal()
            }
            began.wait()
        }

        var thread: ThreadIdentity { found.withLock { $0 } }

        private func blockLater() async { block() }

        private func block() {
            began.signal()
            ending.wait()
        }

        /// The next job begins.
        func next() {
            ending.signal()
            began.wait()
        }

        func end() {
            ending.signal()
            hasEnded.wait()
            clb_contexts_unwant()
        }
    }

    /// At a tick, and later than the opening of any context.
    private let start = (clb_now_ns() / (50 * millisecond) + 200) * 50 * millisecond

    /// The name of the work that the only stall is found to have run; an empty one: none.
    private func running(_ bench: WatchdogBench) throws -> String {
        let index = try #require(bench.queue.takeReady())
        defer { bench.queue.giveFree(index) }
        #expect(bench.queue.episodes[index].facts.phase == .end)
        let tally = bench.queue.episodes[index].running
        guard let context = tally.running?.context else {
            #expect(tally.task == nil)
            return ""
        }
        #expect(tally.task?.address == context.task)
        return withUnsafeBytes(of: context.text) { String(decoding: $0.prefix(Int(context.lengths & 0xff)), as: UTF8.self) }
    }

    private func end(_ loop: FakeLoop, at time: UInt64, _ bench: WatchdogBench) {
        bench.run(until: time)
        loop.move(to: .waiting, at: time)
        bench.scan(at: time)
    }

    @Test(arguments: [0, 1, 12_500_000, 25_000_000, 41_000_000, 49_999_999] as [UInt64], [true, false])
    func `a stall slightly longer than its threshold names the request, wherever it begins`(offset: UInt64, isBusy: Bool) throws {
        let worker = Worker(["GET /a"])
        defer { worker.end() }
        let (bench, loop, other) = (try WatchdogBench(at: start), FakeLoop(thread: worker.thread), FakeLoop())
        _ = bench.watch(loop)
        _ = bench.watch(other)
        // One that keeps the watchdog ticking, or both at rest, so that the first to wake posts.
        if isBusy { other.move(to: .beforeTimers, at: start) }
        bench.scan(at: start)
        let begin = start + 100 * millisecond + offset
        bench.run(until: begin)
        loop.move(to: .afterWaiting, at: begin - 20_000)
        if !isBusy { bench.scan(at: begin - 10_000) }
        loop.move(to: .beforeSources, at: begin)
        if isBusy { other.move(to: .waiting, at: begin) }
        end(loop, at: begin + 160 * millisecond, bench)
        #expect(try running(bench) == "GET /a")
    }

    @Test func `of two requests that ran for half of the stall each, none is named`() throws {
        let worker = Worker(["GET /a", "GET /b"])
        defer { worker.end() }
        let (bench, loop) = (try WatchdogBench(at: start), FakeLoop(thread: worker.thread))
        _ = bench.watch(loop)
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        bench.run(until: start + 80 * millisecond)
        worker.next()
        end(loop, at: start + 160 * millisecond, bench)
        #expect(try running(bench) == "")
    }

    @Test func `work that ran only before the stall is not named`() throws {
        let worker = Worker(["GET /before", "GET /a", "GET /before"])
        defer { worker.end() }
        let (bench, loop) = (try WatchdogBench(at: start), FakeLoop(thread: worker.thread))
        _ = bench.watch(loop)
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        bench.run(until: start + 145 * millisecond)
        // The stall begins, and its first reading finds the other request.
        loop.move(to: .beforeSources, at: start + 145 * millisecond)
        worker.next()
        bench.run(until: start + 285 * millisecond)
        worker.next()
        end(loop, at: start + 145 * millisecond + 160 * millisecond, bench)
        #expect(try running(bench) == "")
    }

    @Test func `a request that ran before the stall and during it is named`() throws {
        let worker = Worker(["GET /a"])
        defer { worker.end() }
        let (bench, loop) = (try WatchdogBench(at: start), FakeLoop(thread: worker.thread))
        _ = bench.watch(loop)
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        bench.run(until: start + 120 * millisecond)
        loop.move(to: .beforeSources, at: start + 120 * millisecond)
        end(loop, at: start + 280 * millisecond, bench)
        #expect(try running(bench) == "GET /a")
    }

    @Test func `a rule with long intervals has readings between its polls`() throws {
        let worker = Worker(["GET /a"])
        defer { worker.end() }
        let (bench, loop) = (try WatchdogBench(at: start), FakeLoop(thread: worker.thread))
        _ = bench.watch(loop, rules: .callouts(TimeoutRule(intervalNanoseconds: 1000 * millisecond, timeouts: 3)))
        loop.move(to: .beforeSources, at: start + 1)
        bench.scan(at: start + 1)
        end(loop, at: start + 3020 * millisecond, bench)
        #expect(try running(bench) == "GET /a")
    }
}
