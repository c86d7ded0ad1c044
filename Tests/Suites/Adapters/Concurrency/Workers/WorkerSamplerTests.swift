internal import CLagLinux
internal import LagActivity
import Synchronization
import Testing

@testable import LagMonitorConcurrency

private let millisecond: UInt64 = 1_000_000

/// What the sampler searches for, and which places it releases. Times are passed in.
struct WorkerSamplerTests {
    private static let second: UInt64 = 1_000_000_000
    /// The part of a running thread's time that the kernel may not have counted yet.
    private static let uncounted = 10 * millisecond

    /// A thread that exists, as if in a pool. It is not sampled here.
    private func worker() throws -> PoolWorker {
        var slots = cll_job_slots()
        slots.task = 8
        let source = try #require(JobSource(.tasks, slots: slots))
        return PoolWorker(try #require(JobThread(tid: cll_gettid())), of: source, named: "pool", threads: cll_name(), since: 0)
    }

    @Test func `the first search is for threads created since the first sample`() {
        let sampler = WorkerSampler {}
        sampler.setInterval(50 * millisecond)
        _ = sampler.sample(at: 5 * Self.second)
        #expect(sampler.takeSearch() == 5 * Self.second - Self.uncounted)
    }

    @Test func `time without a watched pool does not count`() {
        let sampler = WorkerSampler {}
        sampler.setInterval(50 * millisecond)
        _ = sampler.sample(at: 2 * Self.second)
        sampler.setInterval(nil)
        for time in [3, 4] as [UInt64] { #expect(sampler.sample(at: time * Self.second) == (time == 3)) }
        _ = sampler.takeSearch()
        sampler.setInterval(50 * millisecond)
        _ = sampler.sample(at: 8 * Self.second)
        #expect(sampler.takeSearch() >= 8 * Self.second - Self.uncounted)
    }

    /// The watchdog sleeps while no pool is watched.
    @Test func `the first search after a time without samples is for threads since the next pool`() {
        let sampler = WorkerSampler {}
        sampler.setInterval(50 * millisecond)
        _ = sampler.sample(at: 2 * Self.second)
        sampler.setInterval(nil)
        _ = sampler.sample(at: 3 * Self.second)
        _ = sampler.takeSearch()
        sampler.setInterval(50 * millisecond)
        // Whatever their number was before.
        _ = sampler.sample(at: 8 * Self.second)
        #expect(sampler.takeSearch() == 8 * Self.second - Self.uncounted)
    }

    @Test func `a closed place is released by a search, even after the last pool is gone`() throws {
        let searches = Atomic<Int>(0)
        let sampler = WorkerSampler { searches.add(1, ordering: .relaxed) }
        sampler.setInterval(50 * millisecond)
        _ = sampler.sample(at: Self.second)
        let place = try #require(try sampler.add(worker()))
        sampler.close(place)
        sampler.setInterval(nil)
        #expect(!sampler.release(place))
        let before = searches.load(ordering: .relaxed)
        _ = sampler.sample(at: Self.second + millisecond)
        #expect(searches.load(ordering: .relaxed) == before + 1 && sampler.release(place))
    }

    @Test func `the sampler has as many places as its capacity`() throws {
        let sampler = WorkerSampler {}
        let worker = try worker()
        for _ in 0..<WorkerSampler.capacity {
            #expect(sampler.hasFreePlace)
            _ = sampler.add(worker)
        }
        #expect(!sampler.hasFreePlace && sampler.add(worker) == nil)
    }
}
