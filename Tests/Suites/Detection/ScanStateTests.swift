import Testing

@testable import LagDetection

@Suite struct ScanStateTests {
    /// Which of ten loops are read in successive scans, if one reading takes 0.4 ms.
    private func scans(_ count: Int) -> [[Int]] {
        var first = 0
        return (0..<count).map { _ in
            var state = ScanState(now: 0, processPause: nil, firstReading: first)
            defer { first = state.firstUnread ?? 0 }
            return (0..<10).filter { index in
                guard state.mayRead(index) else { return false }
                state.addReading(from: 0, to: 400_000)
                return true
            }
        }
    }

    @Test func `many loops are read in turn, in a limited time per scan`() {
        #expect(scans(5) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9], [0, 1, 2]])
    }

    @Test func `all loops are read if reading is fast`() {
        var state = ScanState(now: 0, processPause: nil)
        for index in 0..<201 {
            let mayRead = state.mayRead(index)
            #expect(mayRead == (index < 200))
            state.addReading(from: 0, to: 5_000)
        }
        #expect(state.firstUnread == 200)
    }
}
