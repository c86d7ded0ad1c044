internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import LagReader
@testable internal import lagmond

/// The page that `lagmond report` writes, as bytes.
struct ReportTests {
    private static let hostile =
        #"</script><script>window.hostile=1</script><img src=x onerror='hostile()'>\"&amp;\u2028\u202eevil"#

    private let lines =
        StallLines.line(1) + StallLines.line(2, phase: "begin", milliseconds: "5000.000")
        + StallLines.line(2, milliseconds: "6000.000") + StallLines.line(2, milliseconds: "6000.000")
        + StallLines.line(3, milliseconds: "300.000", fingerprint: "v1:0000000000000001", host: "web-2", culprit: "App.compute")
        + StallLines.line(4, phase: "begin", milliseconds: "5000.000", fingerprint: "v1:0000000000000002", culprit: "App.hang")

    private func page(_ lines: String, _ options: [String] = []) throws -> String {
        let (status, output, errors) = try LagmondProcess.run(["report", "a", "-o", "-"] + options, files: ["a": lines])
        #expect(status == 0, "\(errors)")
        return output
    }

    /// The JSON content of the script element with this id.
    private func data(_ page: String, _ id: String = "data") throws -> [String: Any] {
        let start = try #require(page.range(of: "<script type=\"application/json\" id=\"\(id)\">"))
        let end = try #require(page.range(of: "</script>", range: start.upperBound..<page.endIndex))
        let json = page[start.upperBound..<end.lowerBound]
        return try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    }

    @Test func `groups have the same ranking in the table and in the data`() throws {
        let page = try page(lines)
        let groups = try #require(try data(page)["groups"] as? [[String: Any]])
        #expect(groups.map { $0["culprit"] as? String } == ["App.acquire", "App.hang", "App.compute"])
        #expect(groups.map { $0["total"] as? Double } == [6400, 5000, 300])
        #expect(groups.map { $0["count"] as? Int } == [2, 1, 1])
        let places = ["acquire</bdi>", "hang</bdi>", "compute</bdi>"].compactMap { page.range(of: $0)?.lowerBound }
        #expect(places.count == 3 && places == places.sorted())
        #expect(page.contains("<td class=\"number\" data-value=\"6400.0\">6.4 s</td>"))
    }

    @Test func `the trace link template is in the data and must be a web address`() throws {
        let template = "https://tempo.example/</script>/trace/{trace_id}?span={span_id}"
        #expect(try data(page(lines, ["--trace-link", template]))["trace_link"] as? String == template)
        #expect(try data(page(lines))["trace_link"] == nil)
        for bad in [
            "javascript:alert('{trace_id}')", "https://tempo.example/", "tempo/{trace_id}",
            "https://{trace_id}" + String(repeating: "x", count: 500),
        ] {
            let (status, _, errors) = try LagmondProcess.run(
                ["report", "a", "-o", "-", "--trace-link", bad],
                files: ["a": lines]
            )
            #expect(status == 64 && errors.contains("--trace-link"), "\(errors)")
        }
    }

    @Test func `lost lines of each reason are counted, and each notice once`() throws {
        func notice(_ reason: String, _ count: Int) -> String {
            #"{"schema":"lagmonitor.stall.v1","event":"dropped","host_name":"a","pid":1,"mono_us":12,"reason":"\#(reason)","#
                + #""dropped":\#(count),"dropped_total":8}"# + "\n"
        }
        let notices = notice("sink_failed", 5) + notice("sink_slow", 3)
        #expect(try page(lines + notices + notices).contains("lost by monitors: 8"))
    }

    @Test func `unfinished and abandoned stalls are marked`() throws {
        let page = try page(lines + StallLines.line(5, phase: "abandoned", milliseconds: "7000.000"))
        #expect(page.contains("Stalls without an end: <b>1</b>."))
        #expect(page.contains("Abandoned stalls: <b>1</b>."))
        #expect(page.contains("≥ 5 s<small class=\"open\">still going</small>"))
        #expect(page.contains("≥ 7 s<small class=\"open\">abandoned</small>"))
    }

    @Test func `the call graph contains all stalled time`() throws {
        let all = try data(page(lines + StallLines.line(6, milliseconds: "400.000", more: StallLines.tree)))
        let trees = try #require(all["trees"] as? [[Double]])
        let frames = try #require(all["frames"] as? [[Any]])
        #expect(trees.map { $0[2] } == [6800, 5000, 300])
        for tree in trees {
            let nodes = stride(from: 0, to: tree.count, by: 5).map { Array(tree[$0..<$0 + 5]) }
            #expect(abs(nodes.reduce(0) { $0 + $1[3] + $1[4] } - tree[2]) < 0.01)
            for (index, node) in nodes.enumerated() {
                #expect(node[0] < Double(index))
                #expect(frames.indices.contains(Int(node[1])))
            }
        }
        #expect(frames.contains { $0[0] as? String == "__lll_lock_wait" })
    }

    @Test func `the page contains the line of a stall as written`() throws {
        let page = try page(StallLines.line(1, more: #","wchan":"futex_do_wait","future_field":{"a":[1,"<"]}"#))
        let stall = try data(page, "stall-0")
        #expect(stall["wchan"] as? String == "futex_do_wait")
        #expect((stall["future_field"] as? [String: [AnyHashable]])?["a"] == [1, "<"])
    }

    @Test func `hostile text does not become markup`() throws {
        let line = StallLines.line(1, fingerprint: "v1:<b>&'\\\"", host: Self.hostile, culprit: Self.hostile)
            .replacing("main was stalled", with: Self.hostile).replacing(#""loop":"main""#, with: "\"loop\":\"\(Self.hostile)\"")
        let page = try page(line, ["--title", "</title><script>hostile()</script>"])
        #expect(!page.contains("<script>window.hostile"))
        #expect(!page.contains("<script>hostile"))
        #expect(!page.contains("<img"))
        #expect(!page.contains("<b>&"))
        #expect(!page.contains("\u{202e}evil</bdi>"))
        #expect(page.contains("<title>&lt;/title&gt;&lt;script&gt;hostile()"))
        // The browser finds exactly the scripts that were written.
        #expect(page.components(separatedBy: "<script").count == 4)
        #expect(page.components(separatedBy: "</script").count == 4)
        #expect(
            try data(page, "stall-0")["message"] as? String
                == "</script><script>window.hostile=1</script><img src=x onerror='hostile()'>\"&amp;\u{2028}\u{202e}evil"
        )
    }

    @Test func `bytes that are not UTF-8 do not break the page`() throws {
        try ScratchDirectory.with { directory in
            let bytes = Data(StallLines.line(1).utf8).split(separator: UInt8(ascii: "\n"))[0]
            let broken =
                bytes.prefix { $0 != UInt8(ascii: "w") } + [0xff, 0xc0] + bytes.drop { $0 != UInt8(ascii: "w") } + [0x0a]
            #expect(FileManager.default.createFile(atPath: directory.file("a"), contents: Data(broken)))
            let lagmond = try LagmondProcess(["report", "a", "-o", "page.html"], in: directory)
            #expect(lagmond.wait() == 0)
            let page = directory.read("page.html")
            #expect(page.hasSuffix("</html>\n"))
            _ = try data(page)
        }
    }

    @Test func `the content security policy allows only the page itself`() throws {
        let page = try page(lines)
        let policy = try #require(page.firstMatch(of: /Content-Security-Policy" content="([^"]*)"/)?.1)
        let parts = policy.split(separator: "; ")
        #expect(parts.first == "default-src 'none'")
        #expect(!policy.contains("unsafe"))
        let script = try element(page, "<script>", "</script>")
        let style = try element(page, "<style>", "</style>")
        #expect(parts.contains("script-src 'sha256-\(hash(script))'"))
        #expect(parts.contains("style-src 'sha256-\(hash(style))'"))
        // The page contains nothing that the policy refuses or that loads something.
        let markup = page.replacing(script, with: "").replacing(style, with: "")
        #expect(markup.firstMatch(of: /<[^>]* (?:style|on[a-z]+|src|srcset|action)=/) == nil)
        #expect(markup.matches(of: /href="([^"]*)"/).map { String($0.1) } == ["#groups"])
        #expect(!style.contains("url(") && !style.contains("@import"))
        let addresses = page.replacing("http://www.w3.org/2000/svg", with: "").matches(of: /https?:|"\/\//)
        #expect(addresses.isEmpty)
        #expect(!script.contains("innerHTML") && !script.contains("eval(") && !script.contains("insertAdjacent"))
    }

    @Test func `the same lines create the same page in any order`() throws {
        let separate = lines.split(separator: "\n").map { $0 + "\n" }
        let first = try page(lines)
        #expect(first == (try page(lines)))
        #expect(first == (try page(separate.reversed().joined())))
    }

    /// The grouping is that of `top --by incident`; a stall that delays no other is not listed.
    @Test func `an incident is one row with its stalls`() throws {
        let (first, second) = (#","incident":"01a1ff4b-first""#, #","incident":"01a1ff4b-second""#)
        let lines = [
            StallLines.line(1, culprit: "App.hold", more: first),
            StallLines.line(2, phase: "begin", milliseconds: "600.000", culprit: "App.wait", more: first),
            StallLines.line(2, milliseconds: "700.000", fingerprint: "v1:2", culprit: "App.wait", more: first),
            StallLines.line(3, phase: "begin", milliseconds: "900.000", fingerprint: "v1:3", culprit: "App.queue", more: first),
            StallLines.line(4, milliseconds: "5000.000", culprit: "App.alone", more: second),
            StallLines.line(5, milliseconds: "6000.000", culprit: "App.other"),
        ]
        let page = try page(lines.joined())
        let table = try element(page, "<table id=\"incident-table\">", "</table>")
        #expect(table.components(separatedBy: "<tr>").count == 3, "the head and one incident: \(table)")
        #expect(table.components(separatedBy: "<li").count == 4, "\(table)")
        #expect(table.contains("2 s") && table.contains(">3</td>"), "\(table)")
        #expect(table.contains("App.<wbr>hold") && table.contains("≥ 900 ms") && table.contains("700 ms"), "\(table)")
        #expect(!table.contains("alone") && !table.contains("other"), "\(table)")
        // Each stall opens its details.
        let details = table.matches(of: /data-detail="(\d+)"/).map { String($0.1) }
        #expect(details.count == 3 && Set(details).count == 3)
        for detail in details { #expect(try data(page, "stall-\(detail)")["incident"] as? String == "01a1ff4b-first") }
        #expect(page == (try self.page(lines.reversed().joined())))
        #expect(try self.page(StallLines.line(1)).contains("No incident of several stalls was found."))
    }

    @Test func `the page for no lines states that nothing stalled`() throws {
        let page = try page("")
        #expect(page.contains("Nothing stalled in what was read."))
        #expect(page.contains("No stalls were found."))
        #expect(try data(page)["groups"] as? [Int] == [])
    }

    @Test func `damaged lines are counted at the top of the page`() throws {
        let text =
            StallLines.line(1) + "{\"half\":\n{\"a\":1}\n" + StallLines.line(2).replacing("\"pid\"", with: "\"pid")
            + StallLines.line(3).replacing("duration_ms", with: "length_ms") + StallLines.line(4)
            + #"{"schema":"lagmonitor.stall.v1","event":"dropped","host_name":"a","pid":1,"dropped":7,"dropped_total":7}"# + "\n"
        let page = try page(text)
        for part in [
            "Lines: <b>7</b>. Of a.", "Damaged lines: <b>2</b>.", "Lines that are not the monitor’s: <b>1</b>.",
            "Lines without required fields: <b>1</b>.", "Lines lost before they were written: <b>7</b>.",
            "Lines read: 7 · stalls: 2 · damaged or not ours: 4 · lost by monitors: 7",
        ] {
            #expect(page.contains(part), "\(part)")
        }
    }

    @Test func `groups beyond the limit are summed up in one`() throws {
        let many = (0..<12).map {
            StallLines.line(
                $0,
                milliseconds: "\(1000 - $0).000",
                fingerprint: "v1:00000000000000\(10 + $0)",
                culprit: "App.f\($0)"
            )
        }
        let page = try page(many.joined(), ["--top", "5"])
        let groups = try #require(try data(page)["groups"] as? [[String: Any]])
        #expect(groups.count == 6)
        #expect(groups.last?["is_rest"] as? Bool == true)
        #expect(groups.last?["count"] as? Int == 7)
        #expect(groups.reduce(0) { $0 + ($1["total"] as? Double ?? 0) } == 11934)
        #expect(page.contains("7 other groups"))
        #expect(page.contains("Groups summarized as the last one: <b>7</b>."))
    }

    @Test func `the since option limits the counted stalls`() throws {
        let page = try page(lines, ["--since", "2027-01-01"])
        #expect(page.contains("No stalls were found."))
        #expect(page.contains("Stalls that began outside the given times: <b>4</b>."))
    }

    private func element(_ page: String, _ open: String, _ close: String) throws -> String {
        let start = try #require(page.range(of: open))
        let end = try #require(page.range(of: close, range: start.upperBound..<page.endIndex))
        return String(page[start.upperBound..<end.lowerBound])
    }

    private func hash(_ text: String) -> String { Data(SHA256.hash(Array(text.utf8))).base64EncodedString() }
}
