import Testing

@testable import LagDetection

struct TickCellTests {
    private let start: UInt64 = 1000 * millisecond

    @Test func `a cell stores the last tick`() {
        let cell = TickCell()
        #expect(cell.lastNanoseconds == 0 && cell.rate == nil)
        cell.tick(at: start)
        cell.tick(at: start + 20)
        #expect(cell.lastNanoseconds == start + 20)
    }

    @Test func `the rate is that of the last full second`() {
        let cell = TickCell()
        for tick in 0...59 as ClosedRange<UInt64> { cell.tick(at: start + tick * 16 * millisecond) }
        #expect(cell.rate == nil)
        for tick in 60...63 as ClosedRange<UInt64> { cell.tick(at: start + tick * 16 * millisecond) }
        // 63 ticks after the first, in 1008 ms.
        #expect(cell.rate == 62.5)
        var now = start + 63 * 16 * millisecond
        for _ in 0..<20 {
            now += 50 * millisecond
            cell.tick(at: now)
        }
        #expect(cell.rate == 20)
    }

    @Test func `a stall lowers the rate`() throws {
        let cell = TickCell()
        for tick in 0...25 as ClosedRange<UInt64> { cell.tick(at: start + tick * 20 * millisecond) }
        cell.tick(at: start + 2000 * millisecond)
        #expect(cell.rate == 13)
    }

    @Test func `a clock that goes back causes no trap`() {
        let cell = TickCell()
        for time: UInt64 in [start, 5, .max, 7, .max] { cell.tick(at: time) }
        #expect(cell.lastNanoseconds == .max)
    }

    @Test func `a tick without a given time is at the present`() {
        let cell = TickCell()
        cell.tick()
        let first = cell.lastNanoseconds
        cell.tick()
        #expect(first > 0 && cell.lastNanoseconds >= first)
    }
}
