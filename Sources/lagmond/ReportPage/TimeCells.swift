internal import LagModel

/// The stalled time per interval, by series (a group, a lane) and row (a duration, a cause); a bounded number of cells.
///
/// The columns are intervals of one width, counted from 1970. If there are too many cells, the width grows to the next of
/// ``widths``, each a multiple of the one before, so that no cell is split: the result does not depend on the order of the
/// stalls.
struct TimeCells: Sendable {
    struct Key: Hashable, Sendable {
        /// -1: everything without its own series.
        var series: Int
        var row: Int
        var column: Int64
    }

    struct Sum: Sendable {
        var count: UInt64 = 0
        var nanoseconds: UInt64 = 0
    }

    /// The number that a dictionary with half a million buckets holds: 21 MB.
    static let maximumCells = 390_000

    private static let second: Int64 = 1_000_000_000
    static let widths: [Int64] = {
        let milliseconds: [Int64] = [1, 2, 10, 20, 100, 200]
        let seconds: [Int64] = [1, 2, 10, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200]
        let days: [Int64] = [1, 2, 10, 20, 100, 500, 1000, 10000]
        return milliseconds.map { $0 * 1_000_000 } + seconds.map { $0 * second } + days.map { $0 * 86400 * second }
    }()

    private(set) var cells: [Key: Sum] = [:]
    private var level = 0
    private let limit: Int

    init(limit: Int = maximumCells) { self.limit = limit }

    /// In nanoseconds.
    var width: Int64 { Self.widths[level] }

    mutating func add(series: Int, row: Int, time: Int64, nanoseconds: UInt64) {
        add(Key(series: series, row: row, column: column(time)), Sum(count: 1, nanoseconds: nanoseconds))
    }

    /// - Parameter series: for each series of the other, its number here.
    mutating func add(_ other: TimeCells, series: (Int) -> Int) {
        var other = other
        while level < other.level { coarsen() }
        while other.level < level { other.coarsen() }
        for (key, sum) in other.cells {
            // The width may have grown meanwhile.
            let product = key.column.multipliedReportingOverflow(by: other.width)
            // The start of the first or last column may be outside the range of times.
            let time = product.overflow ? (key.column < 0 ? Int64.min : .max) : product.partialValue
            add(Key(series: series(key.series), row: key.row, column: column(time)), sum)
        }
    }

    /// The cells with renumbered series, in columns wide enough that columns and cells stay within the limits; columns count from
    /// the first, at least one.
    func fitted(columns maximumColumns: Int64, cells maximum: Int, series: (Int) -> Int) -> TimeCells {
        var fitted = TimeCells()
        fitted.level = level
        for (key, sum) in cells { fitted.put(Key(series: series(key.series), row: key.row, column: key.column), sum) }
        while fitted.level + 1 < Self.widths.count, fitted.columnCount > maximumColumns || fitted.cells.count > maximum {
            fitted.coarsen()
        }
        return fitted
    }

    var firstColumn: Int64 { cells.keys.reduce(Int64.max) { min($0, $1.column) } }

    var columnCount: Int64 {
        guard !cells.isEmpty else { return 0 }
        return cells.keys.reduce(Int64.min) { max($0, $1.column) } - firstColumn + 1
    }

    /// By series, column and row.
    var sorted: [(key: Key, sum: Sum)] {
        cells.map { (key: $0.key, sum: $0.value) }
            .sorted { ($0.key.series, $0.key.column, $0.key.row) < ($1.key.series, $1.key.column, $1.key.row) }
    }

    private func column(_ time: Int64) -> Int64 { Self.floorDivided(time, width) }

    private mutating func add(_ key: Key, _ sum: Sum) {
        put(key, sum)
        while cells.count > limit, level + 1 < Self.widths.count { coarsen() }
    }

    private mutating func put(_ key: Key, _ sum: Sum) {
        var key = key
        // Only with years of data and many groups.
        if level + 1 == Self.widths.count, cells.count > limit, cells[key] == nil { key.series = -1 }
        cells[key, default: Sum()].count += sum.count
        cells[key, default: Sum()].nanoseconds.addSaturated(sum.nanoseconds)
    }

    private mutating func coarsen() {
        let factor = Self.widths[level + 1] / Self.widths[level]
        level += 1
        let finer = cells
        cells = [:]
        for (key, sum) in finer {
            put(Key(series: key.series, row: key.row, column: Self.floorDivided(key.column, factor)), sum)
        }
    }

    private static func floorDivided(_ number: Int64, _ divisor: Int64) -> Int64 {
        number / divisor - (number % divisor < 0 ? 1 : 0)
    }
}
