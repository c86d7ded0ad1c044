internal import LagModel
internal import LagReader

/// The groups as a readable table.
struct TopText {
    let by: GroupKey
    /// The width of a line in characters; nil: unlimited.
    var width: Int?

    /// The lines, without newlines.
    func lines(_ ranking: TopRanking) -> [String] {
        let summary = summary(ranking)
        return [width.map { TextTable.cut(summary, to: $0) } ?? summary] + TextTable(columns(ranking.shown), width: width).lines
    }

    private func columns(_ groups: [StallGroup]) -> [TextTable.Column] {
        func number(_ title: String, _ dispensability: Int?, _ cell: (StallGroup) -> String) -> TextTable.Column {
            TextTable.Column(title: title, isRight: true, dispensability: dispensability, cells: groups.map(cell))
        }
        func name(_ title: String, _ dispensability: Int?, _ cell: (StallGroup) -> String) -> TextTable.Column {
            TextTable.Column(title: title, dispensability: dispensability, canBeCut: true, cells: groups.map(cell))
        }
        func time(_ group: StallGroup, _ nanoseconds: UInt64) -> String {
            group.count == 0 ? "" : DurationText.text(nanoseconds: nanoseconds)
        }
        // The column with the highest number is dropped first.
        var columns = [
            number("count", nil) { "\($0.count)" },
            number("held", 3) { $0.heldBackCount == 0 ? "" : "+\($0.heldBackCount)" },
            number("total", nil) { DurationText.text(nanoseconds: $0.weight) },
            number("p50", 7) { time($0, $0.nanoseconds(atShare: 0.5)) },
            number("p99", 4) { time($0, $0.nanoseconds(atShare: 0.99)) },
            number("worst", nil) { time($0, $0.worstNanoseconds) },
            number("hosts", 8) { "\($0.hosts.count)" },
            TextTable.Column(
                title: "last seen",
                dispensability: 9,
                cells: groups.map { $0.lastTime == .min ? "" : UTCTime.text($0.lastTime) }
            ),
        ]
        if by != .cause { columns.append(name("cause", 2) { $0.cause }) }
        columns.append(number("open", 5) { $0.openCount == 0 ? "" : "\($0.openCount)" })
        if by != .fingerprint, by != .culprit { columns.append(name(by.rawValue, nil) { Self.name($0.key) }) }
        if by != .process { columns.append(name("process", 1) { Self.name($0.process) }) }
        if by != .service, by != .target { columns.append(name("service", 6) { Self.name($0.service) }) }
        columns.append(
            TextTable.Column(
                title: "fingerprint",
                dispensability: by == .fingerprint ? 4 : 10,
                cells: groups.map { by == .fingerprint ? Self.name($0.key) : Self.nameOrDash($0.fingerprint) }
            )
        )
        columns.append(name("culprit", nil) { by == .culprit ? Self.name($0.key) : Self.nameOrDash($0.culprit) })
        return columns
    }

    private func summary(_ ranking: TopRanking) -> String {
        let held = ranking.heldBackCount == 0 ? "" : ", \(ranking.heldBackCount) more held back by a limit"
        let hidden = ranking.groupCount - ranking.shown.count
        let more = hidden > 0 ? " (\(hidden) not shown; --limit)" : ""
        let groups = "\(ranking.groupCount) \(ranking.groupCount == 1 ? "group" : "groups")"
        let stalls = "\(ranking.count) \(ranking.count == 1 ? "stall" : "stalls")"
        return "\(stalls), \(DurationText.text(nanoseconds: ranking.totalNanoseconds)) in all\(held); "
            + "\(groups) by \(by.rawValue)\(more)"
    }

    private static func name(_ bytes: [UInt8]) -> String { bytes.isEmpty ? "-" : PlainText.sanitized(bytes) }

    private static func nameOrDash(_ text: LatestText) -> String { text.text.isEmpty ? "-" : name(text) }

    /// The latest name, and a hint if there are others.
    private static func name(_ text: LatestText) -> String {
        text.text.isEmpty ? "" : PlainText.sanitized(text.text) + (text.hasOthers ? " …" : "")
    }
}
