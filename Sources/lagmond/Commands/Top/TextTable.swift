/// A readable table that fits the available width.
struct TextTable {
    struct Column {
        let title: String
        var isRight = false
        /// The column with the highest value is dropped first if the width is too small; nil: never dropped.
        var dispensability: Int?
        /// Names may be truncated, numbers not.
        var canBeCut = false
        let cells: [String]
    }

    /// The minimum width of a name while columns can be dropped instead, and the minimum in any case.
    private static let (niceCut, leastCut) = (20, 8)
    private static let gap = 2

    private var columns: [Column]
    private var widths: [Int]
    private let width: Int?

    /// - Parameter width: the width of a line in characters; nil: unlimited.
    init(_ columns: [Column], width: Int?) {
        self.width = width
        self.columns = columns
        widths = columns.map { column in column.cells.reduce(column.title.count) { max($0, $1.count) } }
        guard let width else { return }
        // Drops empty columns first, then truncates names to a readable width, then drops columns, then truncates names further.
        for index in self.columns.indices.reversed()
        where total > width && self.columns[index].dispensability != nil && self.columns[index].cells.allSatisfy(\.isEmpty) {
            remove(index)
        }
        shrink(to: width, least: Self.niceCut)
        while total > width, let index = mostDispensable { remove(index) }
        // Dropping a column may have freed more than was needed.
        widths = zip(self.columns, widths).map { column, _ in column.cells.reduce(column.title.count) { max($0, $1.count) } }
        shrink(to: width, least: Self.niceCut)
        shrink(to: width, least: Self.leastCut)
    }

    /// The head and a line for each row, without newlines.
    var lines: [String] {
        let count = columns.first?.cells.count ?? 0
        return [line(columns.map(\.title))] + (0..<count).map { row in line(columns.map { $0.cells[row] }) }
    }

    /// Truncates a text to a width.
    static func cut(_ text: String, to width: Int) -> String {
        text.count <= width ? text : text.prefix(max(0, width - 1)) + "…"
    }

    private var total: Int { widths.reduce(0, +) + Self.gap * max(0, widths.count - 1) }

    private var mostDispensable: Int? {
        columns.indices.filter { columns[$0].dispensability != nil }.max {
            columns[$0].dispensability! < columns[$1].dispensability!
        }
    }

    private mutating func remove(_ index: Int) {
        columns.remove(at: index)
        widths.remove(at: index)
    }

    /// Truncates the widest names first.
    private mutating func shrink(to width: Int, least: Int) {
        while total > width {
            let candidates = columns.indices.filter { columns[$0].canBeCut && widths[$0] > max(least, columns[$0].title.count) }
            guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { return }
            widths[widest] -= 1
        }
    }

    private func line(_ cells: [String]) -> String {
        let padded = zip(cells, zip(columns, widths)).map { cell, layout in
            let cell = Self.cut(cell, to: layout.1)
            let space = String(repeating: " ", count: layout.1 - cell.count)
            return layout.0.isRight ? space + cell : cell + space
        }
        let line = String(
            padded.joined(separator: String(repeating: " ", count: Self.gap)).reversed().drop { $0 == " " }.reversed()
        )
        return width.map { Self.cut(line, to: $0) } ?? line
    }
}
