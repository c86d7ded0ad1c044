import Testing

@testable import lagbench

struct BenchLineTests {
    @Test func `a line contains value, unit, peer and ratio`() {
        var line = BenchLine("loop_turn", 250, "ns").comparing(with: "cfrunloop", 1000)
        line.p99 = 300.4
        #expect(line.text == "bench loop_turn 250 ns p99=300 peer=cfrunloop peer_value=1000 ratio=4")
    }

    @Test func `the ratio to a value of zero is infinite`() {
        #expect(BenchLine("wakes", 0, "count").comparing(with: "semaphore_watchdog", 100).ratio == .infinity)
        #expect(BenchLine("wakes", 0, "count").comparing(with: "semaphore_watchdog", 0).ratio == 1)
    }

    @Test(arguments: [(0.5126, "0.513"), (5.0, "5"), (5.018, "5.02"), (51.84, "51.8"), (1683.4, "1683")])
    func `numbers are written with three significant digits`(number: Double, text: String) {
        #expect(BenchLine.format(number) == text)
    }

    @Test func `a target is met up to its bound and missed beyond it`() {
        let limit = Target(.value, .atMost(2))
        #expect(limit.isMet(by: BenchLine("x", 2, "ns")))
        #expect(!limit.isMet(by: BenchLine("x", 2.01, "ns")))
        let ratio = Target(.ratio, .atLeast(100))
        #expect(ratio.isMet(by: BenchLine("x", 1, "ns").comparing(with: "peer", 100)))
        #expect(!ratio.isMet(by: BenchLine("x", 1, "ns").comparing(with: "peer", 99)))
    }

    @Test func `a target for a missing measurement is missed`() {
        #expect(!Target(.p99, .atMost(50)).isMet(by: BenchLine("x", 0, "us")))
    }
}

struct SamplesTests {
    @Test func `a percentile is the nearest rank`() {
        let samples = Samples((1...200).map(Double.init).shuffled())
        #expect(samples.median == 100)
        #expect(samples.percentile(99) == 198)
    }

    @Test func `the 99th percentile of few samples is the largest`() {
        #expect(Samples([3, 1, 2]).percentile(99) == 3)
    }
}

struct GapsTests {
    private let gaps = Gaps([.init(begin: 100, end: 110), .init(begin: 200, end: 250), .init(begin: 300, end: 305)])

    @Test func `a gap that began before a window is not counted as beginning in it`() {
        #expect(gaps.largest(beginningIn: .init(begin: 210, end: 310)) == 5)
        #expect(gaps.largest(overlapping: .init(begin: 210, end: 310)) == 50)
    }

    @Test func `a window without a gap has length zero`() {
        #expect(gaps.largest(overlapping: .init(begin: 110, end: 200)) == 0)
    }

    @Test func `a time inside a gap is found`() {
        #expect(gaps.isInside(one: 225))
        #expect(!gaps.isInside(one: 260))
        #expect(!gaps.isInside(one: 400))
    }
}

struct OptionsTests {
    @Test func `an unknown benchmark is refused with the known ones`() {
        #expect {
            try Options(arguments: ["--only", "nope"], names: ["loop_turn"])
        } throws: { error in
            "\(error)" == "--only is 'nope'; allowed is one of loop_turn"
        }
    }

    @Test func `the only option can be repeated`() throws {
        let options = try Options(arguments: ["--only", "a", "--only", "b", "--check"], names: ["a", "b", "c"])
        #expect(options.only == ["a", "b"])
        #expect(options.check)
    }

    @Test func `the subject option takes a path`() throws {
        #expect(try Options(arguments: ["--subject", "/p"], names: []).subject == "/p")
        #expect(throws: UsageError.self) { try Options(arguments: ["--subject"], names: []) }
    }

    @Test func `every benchmark has a unique name and a target`() {
        #expect(Set(Lagbench.benchmarks().map(\.name)).count == 43)
        #expect(Lagbench.benchmarks().allSatisfy { !$0.targets.isEmpty })
    }
}
