/// The heat map's rows: ranges of durations with round edges, six per power of ten.
enum DurationRow {
    /// The lower edges in milliseconds; row 0 is below the first edge.
    static let edges: [UInt64] = (0..<9).flatMap { power -> [UInt64] in
        let scale = (0..<power).reduce(UInt64(1)) { value, _ in value * 10 }
        return scale == 1 ? [1, 2, 3, 5, 7] : [1, 15, 2, 3, 5, 7].map { $0 == 15 ? scale / 10 * 15 : $0 * scale }
    }

    static func row(nanoseconds: UInt64) -> Int {
        let milliseconds = nanoseconds / 1_000_000
        var low = 0
        var high = edges.count
        while low < high {
            let middle = (low + high) / 2
            if edges[middle] <= milliseconds { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
