internal import FoundationEssentials
internal import LagReader

/// The page's bytes: one file that loads nothing from other sites.
///
/// The data is in it as text of tables (``HTMLText``) and as JSON in elements that browsers do not run (``ReportData``). The
/// policy allows one script and one style, named by their hashes: whatever a record contains, nothing else runs.
struct ReportPage {
    let report: Report
    let version: String
    /// A ``TraceLink``; nil: traces are shown without a link.
    var traceLink: String?

    private static let scripts = [
        PackageResources.core_js, PackageResources.tree_js, PackageResources.link_js, PackageResources.flame_js,
        PackageResources.heat_js, PackageResources.timeline_js,
        PackageResources.detail_js, PackageResources.tables_js, PackageResources.report_js,
    ]

    func bytes() -> [UInt8] {
        let script = [UInt8]("'use strict';\n(() => {\n".utf8) + Self.scripts.flatMap { $0 + [0x0a] } + Array("})();\n".utf8)
        let style = PackageResources.report_css
        let title = HTMLText.escaped(report.title)
        var page: [UInt8] = []
        func put(_ text: String) { page += Array(text.utf8) }
        put(
            """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="\(Self.policy(script: script, style: style))">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="referrer" content="no-referrer">
            <meta name="generator" content="lagmond \(version)">
            <title>\(title)</title>
            <style>
            """
        )
        page += style
        put("</style>\n</head>\n<body>\n")
        put(header(title))
        put(main())
        put("<footer><p>Made by lagmond \(version). Times are UTC; a stall’s time is its start. ")
        put("Nothing was loaded from other sites.</p></footer>\n")
        put("<script type=\"application/json\" id=\"data\">")
        page += ReportData(report: report, traceLink: traceLink).bytes()
        put("</script>\n")
        for (index, detail) in report.details.enumerated() {
            put("<script type=\"application/json\" id=\"stall-\(index)\">")
            page += ReportData.sanitized(detail.line ?? [])
            put("</script>\n")
        }
        put("<script>")
        page += script
        put("</script>\n</body>\n</html>\n")
        return page
    }

    private static func policy(script: [UInt8], style: [UInt8]) -> String {
        func source(_ bytes: [UInt8]) -> String { "'sha256-\(Data(SHA256.hash(bytes)).base64EncodedString())'" }
        let sources = "script-src \(source(script)); style-src \(source(style))"
        return "default-src 'none'; \(sources); base-uri 'none'; form-action 'none'"
    }

    private func header(_ title: String) -> String {
        let summary = ReportSummary(report: report)
        let tiles = summary.tiles.map { "<div><dt>\($0.name)</dt><dd>\($0.value)</dd></div>" }.joined()
        func list(_ items: [String]) -> String { "<ul>" + items.map { "<li>\($0)</li>" }.joined() + "</ul>" }
        let leftOut = summary.leftOut
        let left = leftOut.isEmpty ? "<p>Nothing was left out.</p>" : list(leftOut)
        return """
            <header>
            <a class="skip" href="#groups">Skip to the groups</a>
            <h1>\(title)</h1>
            <p class="span">\(summary.span)</p>
            <dl class="tiles">\(tiles)</dl>
            <details class="read"><summary>\(summaryLine)</summary>
            <div class="columns"><div><h2>What was read</h2>\(list(summary.read))</div><div><h2>What was left out</h2>\(left)</div></div>
            </details>
            </header>

            """
    }

    private var summaryLine: String {
        let tally = report.tally
        let bad = tally.damaged + tally.incomplete + tally.foreign + tally.otherFormatCount
        var parts = ["Lines read: \(HTMLText.number(tally.lines))", "stalls: \(HTMLText.number(report.all.count))"]
        parts.append(bad == 0 ? "no line left out" : "damaged or not ours: \(HTMLText.number(bad))")
        if report.lostLines > 0 { parts.append("lost by monitors: \(HTMLText.number(report.lostLines))") }
        if report.all.openCount > 0 { parts.append("still going: \(HTMLText.number(report.all.openCount))") }
        if !report.inputErrors.isEmpty { parts.append("errors of inputs: \(report.inputErrors.count)") }
        return parts.joined(separator: " · ")
    }

    private func main() -> String {
        let tables = ReportTables(report: report)
        return """
            <main>
            <noscript><p class="note">Scripts are off: the graphs and the details of stalls need them. The tables are complete.</p></noscript>
            <div id="filter" class="filter" role="status" aria-live="polite" hidden></div>
            <section id="groups" aria-labelledby="groups-title"><h2 id="groups-title">Groups</h2>
            \(tables.groups())</section>
            <section id="incidents" aria-labelledby="incidents-title"><h2 id="incidents-title">Incidents</h2>
            \(tables.incidents())</section>
            <section id="flame" aria-labelledby="flame-title" hidden><h2 id="flame-title">Where the time went</h2></section>
            <section id="heat" aria-labelledby="heat-title" hidden><h2 id="heat-title">How long, and when</h2></section>
            <section id="timeline" aria-labelledby="timeline-title" hidden><h2 id="timeline-title">Timeline</h2></section>
            <section id="worst" aria-labelledby="worst-title"><h2 id="worst-title">Longest stalls</h2>
            \(tables.worst())</section>
            </main>
            <aside id="detail" aria-labelledby="detail-title" hidden></aside>

            """
    }
}
