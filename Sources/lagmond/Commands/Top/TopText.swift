internal import Glibc
internal import LagModel
internal import LagReader

/// The groups as a table for people.
struct TopText {
    let by: GroupKey

    private struct Column {
        let title: String
        let isRight: Bool
        let cell: (StallGroup) -> String
    }

    /// The lines, without newlines.
    func lines(_ ranking: TopRanking) -> [String] {
        let rows = ranking.shown.map { group in columns.map { $0.cell(group) } }
        let widths = columns.enumerated().map { index, column in
            rows.reduce(column.title.count) { max($0, $1[index].count) }
        }
        func line(_ cells: [String]) -> String {
            let padded = zip(cells, zip(columns, widths)).map { cell, layout in
                let space = String(repeating: " ", count: layout.1 - cell.count)
                return layout.0.isRight ? space + cell : cell + space
            }
            return String(padded.joined(separator: "  ").reversed().drop { $0 == " " }.reversed())
        }
        return [summary(ranking), line(columns.map(\.title))] + rows.map(line)
    }

    private var columns: [Column] {
        var columns = [
            Column(title: "count", isRight: true) { "\($0.count)" },
            Column(title: "held", isRight: true) { $0.heldBackCount == 0 ? "" : "+\($0.heldBackCount)" },
            Column(title: "total", isRight: true) { DurationText.text(nanoseconds: $0.weight) },
            Column(title: "p50", isRight: true) { $0.count == 0 ? "" : DurationText.text(nanoseconds: $0.nanoseconds(atShare: 0.5)) },
            Column(title: "p99", isRight: true) { $0.count == 0 ? "" : DurationText.text(nanoseconds: $0.nanoseconds(atShare: 0.99)) },
            Column(title: "worst", isRight: true) { $0.count == 0 ? "" : DurationText.text(nanoseconds: $0.worstNanoseconds) },
            Column(title: "hosts", isRight: true) { "\($0.hosts.count)" },
            Column(title: "last seen", isRight: false) { $0.lastTime == .min ? "" : UTCTime.text($0.lastTime) },
        ]
        if by != .cause { columns.append(Column(title: "cause", isRight: false) { $0.cause }) }
        columns.append(Column(title: "open", isRight: true) { $0.openCount == 0 ? "" : "\($0.openCount)" })
        if by != .fingerprint, by != .culprit {
            columns.append(Column(title: by.rawValue, isRight: false) { Self.name($0.key) })
        }
        columns.append(Column(title: "fingerprint", isRight: false) { Self.name(by == .fingerprint ? $0.key : $0.fingerprint) })
        columns.append(Column(title: "culprit", isRight: false) { Self.name(by == .culprit ? $0.key : $0.culprit) })
        return columns
    }

    private func summary(_ ranking: TopRanking) -> String {
        let held = ranking.heldBackCount == 0 ? "" : ", \(ranking.heldBackCount) more held back by a limit"
        let hidden = ranking.groupCount - ranking.shown.count
        let more = hidden > 0 ? " (\(hidden) not shown; --limit)" : ""
        return "\(ranking.count) stalls, \(DurationText.text(nanoseconds: ranking.totalNanoseconds)) in all\(held); "
            + "\(ranking.groupCount) groups by \(by.rawValue)\(more)"
    }

    private static func name(_ bytes: [UInt8]) -> String { bytes.isEmpty ? "-" : PlainText.sanitized(bytes) }
}
