internal import Testing

@testable internal import LagRemote

struct TurnFilterTests {
    private static let millisecond: UInt64 = 1_000_000
    private static let start = 5000 * millisecond

    /// The steps of an hour's part, in milliseconds, of a loop that wakes at these times and works for so long.
    private static func steps(
        wakes: [Double],
        working length: Double,
        until end: Double,
        mayFilter: Bool = true
    ) -> [(step: TurnFilter.Step, time: Double)] {
        func nanoseconds(_ time: Double) -> UInt64 { start + UInt64(time * 1e6) }
        var filter = TurnFilter(at: start)
        var steps: [(step: TurnFilter.Step, time: Double)] = []
        func step(at now: UInt64) {
            let time = Double(now - start) / 1e6
            let found = filter.step(at: now) { !wakes.contains { $0 <= time && time < $0 + length } }
            if found != .nothing { steps.append((found, time)) }
        }
        for (index, wake) in wakes.enumerated() {
            // The relay wakes a little later.
            let now = nanoseconds(wake + 0.05)
            filter.recordAnswer(at: nanoseconds(wake), now: now, mayFilter: mayFilter)
            step(at: now)
            let next = index + 1 < wakes.count ? nanoseconds(wakes[index + 1]) : nanoseconds(end)
            while filter.dueNanoseconds < next { step(at: filter.dueNanoseconds) }
        }
        return steps
    }

    @Test func `an idle loop with a timer is visited once a second`() {
        for length in [0.02, 0.3, 0.9] {
            let found = Self.steps(wakes: stride(from: 0, to: 60_000, by: 100).map { $0 }, working: length, until: 60_000)
            #expect(found.allSatisfy { $0.step == .visit } && (50...60).contains(found.count), "\(length): \(found.count)")
        }
    }

    @Test func `a rest that lasts is visited once`() {
        let found = Self.steps(wakes: [0, 50, 100], working: 0.3, until: 100_000)
        #expect(found.map(\.step) == [.visit] && found.first!.time < 100 + 125, "\(found)")
    }

    @Test func `work of more than a millisecond is passed on at once`() {
        let found = Self.steps(wakes: [0, 1000], working: 1.5, until: 1500)
        #expect(
            found.map(\.step) == [.work, .work] && found.allSatisfy { $0.time.truncatingRemainder(dividingBy: 1000) <= 1.01 }
        )
    }

    @Test func `of turns in quick succession the second is passed on`() {
        let found = Self.steps(wakes: [0, 10, 20], working: 0.3, until: 25)
        #expect(found.map(\.step) == [.work, .work])
    }

    @Test func `what may not be filtered is passed on at once`() {
        let found = Self.steps(wakes: [0, 100], working: 0.02, until: 200, mayFilter: false)
        #expect(found.map(\.step) == [.work, .work] && found.allSatisfy { $0.time.truncatingRemainder(dividingBy: 100) < 0.1 })
    }

    /// Any process with the table can write anything.
    @Test func `a time in the future delays nothing`() {
        var filter = TurnFilter(at: Self.start)
        filter.recordAnswer(at: .max, now: Self.start, mayFilter: true)
        let first = filter.step(at: Self.start) { false }
        let due = filter.dueNanoseconds
        let second = filter.step(at: due) { false }
        #expect(first == .nothing && second == .work && due == Self.start + TurnFilter.turnNanoseconds)
    }
}
