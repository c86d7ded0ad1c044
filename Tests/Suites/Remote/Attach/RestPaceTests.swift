internal import CLagBeacon
import LagDetection
internal import TestSupport
internal import Testing

@testable internal import LagRemote

struct RestPaceTests {
    private static let second: UInt64 = 1_000_000_000

    /// When it is done in so many seconds, asked each 50 ms.
    private static func times(_ pace: inout RestPace, from begin: UInt64, seconds: UInt64, isUnmoved: Bool) -> [UInt64] {
        stride(from: begin, to: begin + seconds * second, by: 50_000_000).filter { now in
            guard pace.isDue(at: now, isUnmoved: isUnmoved) else { return false }
            pace.recordDone(at: now)
            return true
        }
    }

    @Test func `a moving thread is read at a steady pace, a rest ever more seldom`() {
        var pace = RestPace(shortestNanoseconds: 100_000_000)
        #expect(Self.times(&pace, from: Self.second, seconds: 10, isUnmoved: false).count == 100)
        let rest = Self.times(&pace, from: 11 * Self.second, seconds: 3600, isUnmoved: true)
        #expect(zip(rest, rest.dropFirst()).allSatisfy { $1 - $0 <= RestPace.longestNanoseconds })
        #expect((360...380).contains(rest.count), "\(rest.count)")
        let again = Self.times(&pace, from: 3611 * Self.second, seconds: 1, isUnmoved: false)
        #expect(again.first == 3611 * Self.second && again.count == 10)
    }

    /// It moved, and sleeps since, but was not read there.
    @Test func `a new rest is read soon`() {
        var pace = RestPace(shortestNanoseconds: 100_000_000)
        _ = Self.times(&pace, from: Self.second, seconds: 60, isUnmoved: true)
        let now = 61 * Self.second
        pace.recordDone(at: now)
        let isDue = [
            pace.isDue(at: now + 1, isUnmoved: false), pace.isDue(at: now + 99_999_999, isUnmoved: true),
            pace.isDue(at: now + 100_000_000, isUnmoved: true),
        ]
        #expect(isDue == [false, false, true])
    }

    /// A scan of the beacons costs more than the sample.
    @Test func `the beacons of unmoved loops are scanned seldom, and at once after a move`() throws {
        let probe = try ObjectProbe("level")
        let sampler = KernelSampler(threshold: 150_000_000)
        var search = LoopSearch(
            process: probe.handle,
            named: [probe.pid],
            selection: LoopSelection(),
            hold: 50_000_000,
            mayCount: false,
            semaphore: WakeSemaphore()
        )
        let loops = try probe.sleeping(in: "p") { _ in
            let found = search.scan()
            return found.isEmpty ? nil : found
        }
        for loop in loops { sampler.add(loop) }
        func scans() -> Int { (1...50).count { _ in sampler.sample(at: clb_now_ns()) } }
        #expect(sampler.sample(at: clb_now_ns()))
        // 50 samples take some milliseconds, on a busy machine a second.
        #expect(scans() < 10)
        #expect(try probe.answer() == 0)
        #expect(sampler.sample(at: clb_now_ns()))
        #expect(scans() == 50)
    }
}
