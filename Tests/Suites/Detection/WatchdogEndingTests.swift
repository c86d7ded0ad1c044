internal import LagActivity
import Testing

@testable import LagDetection

/// What happens to stalls and beacons when a watch ends.
struct WatchdogEndingTests {
    private let start: UInt64 = 1000 * millisecond

    @Test func `a loop that finishes during a stall ends the stall`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(loop)
        bench.stall(loop, from: start)
        loop.move(to: .finished, at: start + 210 * millisecond)
        bench.scan(at: start + 210 * millisecond)
        #expect(bench.registry.retired() == [index])
        let reported = bench.takeReported()
        #expect(reported.map(\.phase) == [.end])
        #expect(reported.first?.until == start + 210 * millisecond)
        #expect(!bench.registry.holds(anythingOf: bench.owner))
        #expect(bench.owner.absorbed == WatchCounters(stalls: 1))
    }

    @Test func `a watch that ends during a stall abandons the stall`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        _ = bench.watch(loop)
        bench.stall(loop, from: start)
        #expect(bench.registry.end(loop, of: bench.owner))
        bench.scan(at: start + 230 * millisecond)
        let reported = bench.takeReported()
        #expect(reported.map(\.phase) == [.abandoned])
        #expect(reported.first?.since == start && reported.first?.until == start + 230 * millisecond)
        #expect(reported.first?.activity == .beforeSources)
    }

    /// It is known only later how its process ended.
    @Test(arguments: [true, false])
    func `a stall of a sampled loop ends when its thread was first seen to have ended`(isKnown: Bool) throws {
        let bench = try WatchdogBench()
        let loop = FakeSampledLoop()
        _ = bench.watch(loop)
        loop.begin(at: start)
        bench.scan(at: start)
        bench.run(until: start + 200 * millisecond)
        loop.finish(endedAt: isKnown ? start + 210 * millisecond : nil)
        bench.scan(at: start + 230 * millisecond)
        let reported = bench.takeReported()
        #expect(reported.map(\.phase) == [.abandoned])
        #expect(reported.first?.until == start + (isKnown ? 210 : 230) * millisecond)
    }

    @Test func `a request reports the beginning of the stall in progress, not its end`() throws {
        let bench = try WatchdogBench()
        let (loop, idle) = (FakeLoop(), FakeLoop())
        for loop in [loop, idle] { _ = bench.watch(loop) }
        bench.stall(loop, from: start)
        bench.registry.requestReports(of: bench.owner, begunBefore: start + 205 * millisecond)
        bench.scan(at: start + 210 * millisecond)
        #expect(bench.takeReported().map(\.phase) == [.begin])
        bench.scan(at: start + 220 * millisecond)
        #expect(bench.takeReported().isEmpty)
        loop.move(to: .waiting, at: start + 230 * millisecond)
        bench.scan(at: start + 230 * millisecond)
        #expect(bench.takeReported().map(\.phase) == [.end])
        // A later stall is reported at its own threshold.
        bench.stall(loop, from: start + 300 * millisecond)
        bench.scan(at: start + 510 * millisecond)
        #expect(bench.takeReported().isEmpty)
    }

    @Test func `a stretch that began before the request is reported when it becomes a stall`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        _ = bench.watch(loop)
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        bench.registry.requestReports(of: bench.owner, begunBefore: start + 20 * millisecond)
        bench.scan(at: start + 20 * millisecond)
        #expect(bench.takeReported().isEmpty)
        bench.run(until: start + 200 * millisecond)
        #expect(bench.takeReported().map(\.phase) == [.begin])
    }

    @Test func `a stall that is over when the watch ends is not abandoned`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        _ = bench.watch(loop)
        bench.stall(loop, from: start)
        loop.move(to: .waiting, at: start + 220 * millisecond)
        _ = bench.registry.endAll(of: bench.owner)
        bench.scan(at: start + 230 * millisecond)
        let reported = bench.takeReported()
        #expect(reported.map(\.phase) == [.end])
        #expect(reported.first?.until == start + 220 * millisecond)
    }

    @Test func `ending all watches abandons stalls in progress and ends the others`() throws {
        let bench = try WatchdogBench()
        let (stuck, over, idle) = (FakeLoop(), FakeLoop(), FakeLoop())
        for loop in [stuck, over, idle] {
            _ = bench.watch(loop)
            loop.move(to: loop === idle ? .waiting : .beforeSources, at: start)
        }
        bench.scan(at: start)
        bench.run(until: start + 200 * millisecond)
        over.move(to: .waiting, at: start + 210 * millisecond)
        bench.clock.now = start + 220 * millisecond
        bench.watchdog.endAll()
        #expect(bench.takeReported().map(\.phase) == [.abandoned, .end])
        #expect(![stuck, over, idle].contains { $0.isArmed })
        #expect(!bench.registry.holds(anythingOf: bench.owner))
    }

    @Test(arguments: [0, 1])
    func `the end of one watch leaves the loop armed for the other`(ending: Int) throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let owners = [bench.owner, FakeOwner()]
        for owner in owners { _ = bench.registry.add(loop, name: "", owner: owner, rules: .standard) }
        bench.stall(loop, from: start)
        #expect(bench.registry.end(loop, of: owners[ending]))
        bench.scan(at: start + 210 * millisecond)
        #expect(loop.isArmed)
        #expect(bench.registry.end(loop, of: owners[1 - ending]))
        bench.scan(at: start + 220 * millisecond)
        #expect(!loop.isArmed)
        #expect(bench.takeReported().map(\.phase) == [.abandoned, .abandoned])
    }
}
