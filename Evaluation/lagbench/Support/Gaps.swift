/// The gaps of a thread, in order, which can be looked up by time.
struct Gaps {
    private let gaps: [GapRecorder.Window]

    init(_ gaps: [GapRecorder.Window]) { self.gaps = gaps }

    /// Whether the thread did not run at that time.
    func isInside(one time: UInt64) -> Bool {
        let index = firstEnding(after: time)
        return index < gaps.count && gaps[index].begin < time
    }

    /// In nanoseconds; 0 if there is none.
    func largest(overlapping window: GapRecorder.Window) -> Double { largest(from: firstEnding(after: window.begin), in: window) }

    /// In nanoseconds; 0 if there is none.
    func largest(beginningIn window: GapRecorder.Window) -> Double {
        let first = firstEnding(after: window.begin)
        return largest(from: first < gaps.count && gaps[first].begin < window.begin ? first + 1 : first, in: window)
    }

    private func largest(from first: Int, in window: GapRecorder.Window) -> Double {
        var largest: UInt64 = 0
        var index = first
        while index < gaps.count, gaps[index].begin < window.end {
            largest = max(largest, gaps[index].nanoseconds)
            index += 1
        }
        return Double(largest)
    }

    private func firstEnding(after time: UInt64) -> Int {
        var (low, high) = (0, gaps.count)
        while low < high {
            let middle = (low + high) / 2
            if gaps[middle].end <= time { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
