internal import LagModel
internal import LagReader

/// The page's tables, which need no scripts.
struct ReportTables {
    let report: Report

    /// The limit for each name in the list of an incident's stalls; the details show full names.
    private static let maximumVictimCharacters = 60
    private static let maximumProcessCharacters = 255

    private struct Column {
        let title: String
        let isNumber: Bool
    }

    func groups() -> String {
        let columns = [
            Column(title: "#", isNumber: true), Column(title: "Culprit", isNumber: false), Column(title: "Total", isNumber: true),
            Column(title: "Stalls", isNumber: true), Column(title: "p50", isNumber: true), Column(title: "p99", isNumber: true),
            Column(title: "Worst", isNumber: true), Column(title: "Hosts", isNumber: true),
            Column(title: "Cause", isNumber: false),
            Column(title: "Last seen (UTC)", isNumber: false),
        ]
        let rows = report.groups.enumerated().map { number, group in row(number, group) }
        return table(
            "group-table",
            caption: "Groups by fingerprint, ranked by stalled time",
            columns,
            rows,
            none: "No stalls were found."
        )
    }

    private func row(_ number: Int, _ group: Report.Group) -> String {
        let stalls = group.stalls
        let isRest = group.index == nil
        let culprit =
            stalls.culprit.text.isEmpty
            ? "<span class=\"none\">no culprit</span>" : "<bdi>\(HTMLText.breakable(stalls.culprit.text))</bdi>"
        let name =
            isRest
            ? "<span class=\"none\">\(HTMLText.number(report.otherGroupCount)) other groups</span>"
            : culprit + "<small><bdi>\(HTMLText.short(stalls.key))</bdi></small>"
        var count = HTMLText.number(stalls.count)
        if stalls.openCount > 0 { count += "<small class=\"open\">\(HTMLText.number(stalls.openCount)) still going</small>" }
        if stalls.heldBackCount > 0 { count += "<small>+\(HTMLText.number(stalls.heldBackCount)) held back</small>" }
        func duration(_ nanoseconds: UInt64) -> String { stalls.count == 0 ? "" : DurationText.text(nanoseconds: nanoseconds) }
        let last = stalls.lastTime == .min ? "" : HTMLText.time(stalls.lastTime)
        let cells: [(value: String?, html: String)] = [
            ("\(number)", isRest ? "" : "\(number + 1)"), (nil, name),
            (milliseconds(stalls.weight), DurationText.text(nanoseconds: stalls.weight)),
            ("\(stalls.count)", count),
            (milliseconds(stalls.nanoseconds(atShare: 0.5)), duration(stalls.nanoseconds(atShare: 0.5))),
            (milliseconds(stalls.nanoseconds(atShare: 0.99)), duration(stalls.nanoseconds(atShare: 0.99))),
            (milliseconds(stalls.worstNanoseconds), duration(stalls.worstNanoseconds)),
            ("\(stalls.hosts.count)", HTMLText.number(stalls.hosts.count)), (nil, cause(stalls.cause)),
            (nil, "<time>\(last)</time>"),
        ]
        return "<tr data-group=\"\(number)\">" + cells.enumerated().map(cell).joined() + "</tr>"
    }

    func incidents() -> String {
        let columns = [
            Column(title: "#", isNumber: true), Column(title: "Began (UTC)", isNumber: false),
            Column(title: "Lasted", isNumber: true), Column(title: "Total", isNumber: true),
            Column(title: "Stalls", isNumber: true),
            Column(title: "Loops that stalled", isNumber: false),
        ]
        let details = detailIndices
        let rows = report.incidents.enumerated().map { number, incident in row(number, incident, details) }
        let caption = "Stalls that one thread or one lock caused at the same time"
        return table("incident-table", caption: caption, columns, rows, none: "No incident of several stalls was found.")
    }

    private func row(_ number: Int, _ incident: Report.Incident, _ details: [String: Int]) -> String {
        let stalls = incident.stalls
        let length = UInt64(clamping: stalls.end.subtractingReportingOverflow(stalls.start).partialValue)
        var victims = incident.victims.map { victim in item(victim, detail: details[victim.stall.id]) }.joined()
        let others = stalls.count - min(stalls.count, UInt64(incident.victims.count))
        if others > 0 { victims += "<li class=\"none\">\(HTMLText.number(others)) shorter ones</li>" }
        let cells: [(value: String?, html: String)] = [
            ("\(number)", "\(number + 1)"), (nil, "<time>\(HTMLText.time(stalls.start, withMilliseconds: true))</time>"),
            (milliseconds(length), DurationText.text(nanoseconds: length)),
            (milliseconds(stalls.nanoseconds), DurationText.text(nanoseconds: stalls.nanoseconds)),
            ("\(stalls.count)", HTMLText.number(stalls.count)), (nil, "<ul class=\"victims\">\(victims)</ul>"),
        ]
        return "<tr>" + cells.enumerated().map(cell).joined() + "</tr>"
    }

    private func item(_ victim: Report.Incident.Victim, detail: Int?) -> String {
        let stall = victim.stall
        func short(_ text: String) -> String { "<bdi>\(HTMLText.breakable(text, Self.maximumVictimCharacters))</bdi>" }
        let loop = victim.lane?.loop ?? ""
        let process = victim.lane.map { " of \(short("\($0.process)[\($0.pid)]"))" } ?? ""
        let duration = (stall.phase == .end ? "" : "≥ ") + DurationText.text(nanoseconds: stall.nanoseconds)
        let culprit = victim.culprit.isEmpty ? "" : " in \(short(victim.culprit))"
        let times =
            " data-time=\"\(stall.time / 1_000_000)\" data-ms=\"\(milliseconds(stall.nanoseconds))\""
            + Self.processAttribute(victim.lane?.process ?? "")
        let reference = " data-group=\"\(stall.group)\"" + (detail.map { " data-detail=\"\($0)\"" } ?? "")
        return "<li\(times)\(reference)>\(short(loop.isEmpty ? "a loop" : loop))\(process) \(duration) "
            + cause(StallGroup.causes[stall.cause]) + culprit + "</li>"
    }

    /// The indices of the stalls' details, by stall ID.
    private var detailIndices: [String: Int] {
        Dictionary(report.details.enumerated().map { ($1.id, $0) }) { first, _ in first }
    }

    func worst() -> String {
        let columns = [
            Column(title: "#", isNumber: true), Column(title: "Began (UTC)", isNumber: false),
            Column(title: "Duration", isNumber: true), Column(title: "Culprit", isNumber: false),
            Column(title: "Cause", isNumber: false), Column(title: "Host", isNumber: false),
            Column(title: "Process and loop", isNumber: false),
        ]
        let details = detailIndices
        var scanner = LineScanner()
        let rows = report.worst.enumerated().map { number, stall in
            row(number, stall, detail: details[stall.id], &scanner)
        }
        return table("worst-table", caption: "The longest stalls", columns, rows, none: "No stalls were found.")
    }

    private func row(_ number: Int, _ stall: RetainedStall, detail: Int?, _ scanner: inout LineScanner) -> String {
        let line = stall.line.flatMap { Self.read($0, &scanner) }
        let group = stall.group < report.groups.count ? report.groups[stall.group] : nil
        let lane = report.lanes.indices.contains(stall.lane) ? report.lanes[stall.lane] : nil
        let culprit = line?.culprit ?? group.map { String(decoding: $0.stalls.culprit.text, as: UTF8.self) } ?? ""
        let name = line?.processName ?? lane?.process ?? ""
        let process = "\(name)[\(line?.pid ?? lane.map { Int64(clamping: $0.pid) } ?? 0)]"
        let phase =
            switch stall.phase {
            case .end: ""
            case .begin: "<small class=\"open\">still going</small>"
            case .abandoned: "<small class=\"open\">abandoned</small>"
            }
        let cells: [(value: String?, html: String)] = [
            ("\(number)", "\(number + 1)"), (nil, "<time>\(HTMLText.time(stall.time, withMilliseconds: true))</time>"),
            (
                milliseconds(stall.nanoseconds),
                (stall.phase == .end ? "" : "≥ ") + DurationText.text(nanoseconds: stall.nanoseconds) + phase
            ),
            (
                nil,
                culprit.isEmpty
                    ? "<span class=\"none\">no culprit</span>" : "<bdi>\(HTMLText.breakable(Array(culprit.utf8)))</bdi>"
            ),
            (nil, cause(StallGroup.causes[stall.cause])),
            (nil, "<bdi>\(HTMLText.short(line?.hostName ?? lane?.host ?? ""))</bdi>"),
            (nil, "<bdi>\(HTMLText.short(process))</bdi> · <bdi>\(HTMLText.short(line?.loop ?? lane?.loop ?? ""))</bdi>"),
        ]
        let times = " data-time=\"\(stall.time / 1_000_000)\" data-group=\"\(stall.group)\"" + Self.processAttribute(name)
        let reference = detail.map { " data-detail=\"\($0)\"" } ?? ""
        return "<tr\(times)\(reference)>" + cells.enumerated().map(cell).joined() + "</tr>"
    }

    /// The process name as in the call graph, so that the page can select by it.
    private static func processAttribute(_ name: String) -> String {
        let short = String(String.UnicodeScalarView(name.unicodeScalars.prefix(maximumProcessCharacters)))
        return " data-process=\"\(HTMLText.escaped(StackPath.root(of: short).name))\""
    }

    private static func read(_ line: [UInt8], _ scanner: inout LineScanner) -> ParsedStall? {
        line.withUnsafeBytes { bytes in scanner.scan(bytes) == nil ? scanner.stall() : nil }
    }

    private func cell(_ index: Int, _ cell: (value: String?, html: String)) -> String {
        guard let value = cell.value else { return "<td>\(cell.html)</td>" }
        return "<td class=\"number\" data-value=\"\(value)\">\(cell.html)</td>"
    }

    private func table(_ id: String, caption: String, _ columns: [Column], _ rows: [String], none: String) -> String {
        guard !rows.isEmpty else { return "<p class=\"none\">\(none)</p>\n" }
        let head = columns.map { "<th scope=\"col\"\($0.isNumber ? " class=\"number\"" : "")>\($0.title)</th>" }.joined()
        return """
            <div class="scroll" tabindex="0" role="region" aria-label="\(caption)"><table id="\(id)">
            <caption>\(caption)</caption>
            <thead><tr>\(head)</tr></thead>
            <tbody>
            \(rows.joined(separator: "\n"))
            </tbody></table></div>

            """
    }

    private func cause(_ name: String) -> String {
        name.isEmpty ? "" : "<span class=\"cause cause-\(name)\">\(name.replacing("_", with: " "))</span>"
    }

    private func milliseconds(_ nanoseconds: UInt64) -> String { "\(nanoseconds / 1_000_000).\(nanoseconds / 100_000 % 10)" }
}
