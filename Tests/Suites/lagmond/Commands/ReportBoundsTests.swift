internal import Foundation
internal import LagModel
internal import Testing

@testable internal import LagReader
@testable internal import lagmond

/// The bounds on the size of a page and on the memory for it.
struct ReportBoundsTests {
    private func aggregate(_ lines: [String]) -> ReportAggregate {
        var consumer = ReportConsumer(times: .min ..< .max, deduplicator: StallDeduplicator())
        for line in lines {
            var text = line
            text.withUTF8 { consumer.take(UnsafeRawBufferPointer($0)) }
        }
        consumer.takeOpenLines()
        return consumer.finish()
    }

    /// Lines with many groups, stacks, hosts and times, and long names.
    private func wide(_ count: Int) -> [String] {
        (0..<count).map { number in
            let frames = (0..<40).map {
                #"{"pc":"0x1","module":"server","symbol":"App.f\#(number)_\#($0)\#(String(repeating: "<", count: 300))"}"#
            }
            let minute = String(format: "%02d:%02d", number / 60 % 24, number % 60)
            return StallLines.line(number, fingerprint: "v1:\(number)", host: "host-\(number)", culprit: "App.f\(number)")
                .replacing("18:07:56", with: minute + ":00")
                .replacing(/"frames":\[.*\]/, with: "\"frames\":[\(frames.joined(separator: ","))]")
        }
    }

    @Test func `the page size is bounded for any input`() {
        let report = Report(aggregate(wide(1500)), title: "wide", inputs: ["a"], inputErrors: [], top: 200)
        let page = ReportPage(report: report, version: "0").bytes()
        #expect(report.all.count == 1500)
        #expect(page.count < 5_000_000, "\(page.count)")
        #expect(report.groups.count == 201)
        #expect(report.withoutDetails > 0)
    }

    /// `sanitized` lengthens text: direction marks and control characters to six bytes, bytes that are not UTF-8 to three.
    @Test(arguments: ["<", "\u{202e}", "\u{9b}", "\u{7f}", "a", "ä"])
    func `the computed size of text equals its size in the page`(text: String) {
        let bytes = Array(text.utf8)
        #expect(ReportData.size(bytes) == ReportData.sanitized(bytes).count)
        #expect(ReportData.size([0xff]) == 3)
        let name = String(repeating: text, count: 2000)
        let lines = (0..<600).map { StallLines.line($0, fingerprint: "v1:\($0)", more: ",\"activity\":\"\(name)\"") }
        let report = Report(aggregate(lines), title: "wide", inputs: ["a"], inputErrors: [], top: 200)
        let page = ReportPage(report: report, version: "0").bytes()
        #expect(page.count < 5_000_000, "\(page.count)")
    }

    @Test func `the incident list is bounded for any number and size of incidents`() {
        let name = String(repeating: "<.", count: 300)
        let lines = (0..<1000).map { number in
            StallLines.line(number, fingerprint: "v1:\(number)", culprit: name, more: ",\"incident\":\"incident-\(number / 20)\"")
        }
        let report = Report(aggregate(lines), title: "wide", inputs: ["a"], inputErrors: [], top: 10)
        #expect(report.incidents.count == Report.maximumIncidents)
        #expect(report.otherIncidentCount == 50 - Report.maximumIncidents && report.withoutIncident == 0)
        for incident in report.incidents {
            #expect(incident.stalls.count == 20 && incident.victims.count == IncidentTable.maximumVictims)
        }
        let table = ReportTables(report: report).incidents()
        #expect(table.utf8.count < 300_000, "\(table.utf8.count)")
        #expect(table.contains("12 shorter ones"))
    }

    /// Several threads read, and their results are merged.
    @Test func `incidents merged from two readers equal those of one reader`() {
        let lines = (0..<60).map { number in
            let incident = ",\"incident\":\"incident-\(number % 3)\""
            return StallLines.line(number, milliseconds: "\(100 + number * 7 % 60).000", more: incident)
        }
        let whole = Report(aggregate(lines), title: "", inputs: [], inputErrors: [], top: 10)
        var parts = aggregate(Array(lines.prefix(23)))
        parts.add(aggregate(Array(lines.dropFirst(23))))
        let added = Report(parts, title: "", inputs: [], inputErrors: [], top: 10)
        #expect(whole.incidents.count == 3)
        #expect(ReportTables(report: whole).incidents() == ReportTables(report: added).incidents())
    }

    @Test func `time cells widen instead of exceeding the limit`() {
        var cells = TimeCells()
        var total: UInt64 = 0
        for number in 0..<400_000 {
            cells.add(series: 0, row: number % 3, time: Int64(number) * 7_000_000, nanoseconds: 1)
            total += 1
        }
        #expect(cells.cells.count <= TimeCells.maximumCells)
        #expect(cells.cells.values.reduce(0) { $0 + $1.count } == total)
        let fitted = cells.fitted(columns: 160, cells: 30_000, series: { $0 })
        #expect(fitted.columnCount <= 160)
        #expect(fitted.columnCount > 16)
        #expect(fitted.cells.values.reduce(0) { $0 + $1.count } == total)
    }

    @Test(arguments: [Int64.min, Int64.min + 1, .max, .max - 1]) func `cells with times at the limits of the range add up`(
        time: Int64
    ) {
        var coarse = TimeCells(limit: 1)
        for number: Int64 in 0..<8 { coarse.add(series: 0, row: 0, time: number * 86_400_000_000_000 * 3, nanoseconds: 1) }
        var (one, two) = (TimeCells(limit: 2), TimeCells(limit: 2))
        for edge in [time, time / 2] { two.add(series: 0, row: 0, time: edge, nanoseconds: 1) }
        one.add(two, series: { $0 })
        one.add(coarse, series: { $0 })
        #expect(one.cells.values.reduce(0) { $0 + $1.count } == 10)
    }

    @Test func `every cell width is a multiple of the previous one`() {
        for (narrow, wide) in zip(TimeCells.widths, TimeCells.widths.dropFirst()) {
            #expect(wide > narrow && wide % narrow == 0, "\(narrow) \(wide)")
        }
    }

    @Test func `cells merged from two readers equal those of one reader`() {
        var (one, two, both) = (TimeCells(), TimeCells(), TimeCells())
        for number in 0..<450_000 {
            let time = Int64(number) * 3_000_000
            if number % 3 == 0 {
                two.add(series: 1, row: 2, time: time, nanoseconds: 5)
            } else {
                one.add(series: 1, row: 2, time: time, nanoseconds: 5)
            }
            both.add(series: 1, row: 2, time: time, nanoseconds: 5)
        }
        one.add(two, series: { $0 })
        #expect(one.width == both.width)
        #expect(one.cells.mapValues(\.count) == both.cells.mapValues(\.count))
    }

    @Test func `times before 1970 have columns`() {
        var cells = TimeCells()
        cells.add(series: 0, row: 0, time: -1, nanoseconds: 1)
        cells.add(series: 0, row: 0, time: 0, nanoseconds: 1)
        #expect(cells.columnCount == 2)
        #expect(cells.firstColumn == -1)
    }

    @Test func `a duration equal to the edge of a row belongs to that row`() {
        #expect(DurationRow.edges == DurationRow.edges.sorted())
        #expect(Set(DurationRow.edges).count == DurationRow.edges.count)
        #expect(DurationRow.row(nanoseconds: 999_999) == 0)
        for (index, edge) in DurationRow.edges.enumerated() {
            #expect(DurationRow.row(nanoseconds: edge * 1_000_000) == index + 1)
            #expect(DurationRow.row(nanoseconds: edge * 1_000_000 - 1) == index)
        }
    }

    @Test func `the same longest stalls are kept in any input order`() {
        func stall(_ number: Int) -> RetainedStall {
            RetainedStall(
                id: "\(number)",
                time: 0,
                nanoseconds: UInt64(number % 7),
                group: 0,
                lane: 0,
                cause: 0,
                phase: .end,
                line: nil
            )
        }
        var (forward, backward) = (LongestStalls(limit: 20), LongestStalls(limit: 20))
        for number in 0..<100 { forward.add(stall(number)) }
        for number in (0..<100).reversed() { backward.add(stall(number)) }
        #expect(forward.sorted.map(\.id) == backward.sorted.map(\.id))
        #expect(forward.sorted.count == 20)
        #expect(forward.sorted.allSatisfy { $0.nanoseconds >= 5 })
    }

    @Test func `a full line store keeps the lines of the heaviest groups`() {
        var lineStore = LineStore()
        let line = [UInt8](repeating: 0x20, count: LineStore.maximumLineBytes)
        let groups = 2 * LineStore.maximumBytes / LineStore.maximumLineBytes
        for group in 0..<groups {
            let weight = UInt64(group == 3 ? 1_000_000 : group)
            lineStore.add(group: group, nanoseconds: weight) {
                RetainedStall(
                    id: "\(group)",
                    time: 0,
                    nanoseconds: weight,
                    group: group,
                    lane: 0,
                    cause: 0,
                    phase: .end,
                    line: line
                )
            }
        }
        let kept = (0..<groups).filter { !lineStore.stalls(of: $0).isEmpty }
        #expect(kept.count * line.count <= LineStore.maximumBytes)
        #expect(kept.contains(3))
        #expect(!kept.contains(4))
    }

    @Test func `a tree is pruned by weight and reports how much is missing`() {
        var tree = StackTree()
        var scanner = LineScanner()
        for number in 1...50 {
            var line = StallLines.line(number, milliseconds: "\(number * 10).000", culprit: "App.f\(number)")
            line.withUTF8 { text in
                #expect(scanner.scan(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text).dropLast())) == nil)
                tree.add(scanner, group: 0, nanoseconds: UInt64(number) * 10_000_000)
            }
        }
        let pruned = PrunedTree(tree, members: Array(tree.nodes.indices), limit: 20)
        #expect(pruned.nodes.count <= 21)
        #expect(pruned.prunedCount == tree.nodes.count - (pruned.nodes.count - 1))
        #expect(pruned.nodes.contains { $0.frame.name == "App.f50" })
        #expect(!pruned.nodes.contains { $0.frame.name == "App.f1" })
        #expect(pruned.nodes.reduce(0) { $0 + $1.ownNanoseconds + $1.prunedNanoseconds } == 12_750_000_000)
    }

    /// The same name in the program, in a library, and in samples that contain only names.
    @Test func `functions of program and library with the same name are different frames`() throws {
        var tree = StackTree()
        var scanner = LineScanner()
        let line = StallLines.line(1)
        for line in [
            line,
            line.replacing(
                #""symbol":"__lll_lock_wait","symbol_offset":43,"in_app":true"#,
                with: #""symbol":"main","in_app":false"#
            ),
        ] {
            var line = line
            line.withUTF8 { text in
                #expect(scanner.scan(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text).dropLast())) == nil)
                tree.add(scanner, group: 0, nanoseconds: 400_000_000)
            }
        }
        let mains = tree.frames.filter { $0.name == "main" }
        #expect(Set(mains.map(\.origin)) == [.program, .library] && mains.count == 2)
        #expect(mains.first { $0.origin == .library }?.module == "libc.so.6")
    }

    @Test func `the same stack at other addresses uses the same nodes`() {
        var tree = StackTree()
        var scanner = LineScanner()
        for pc in ["0x7ffbe1ccb12b", "0x123"] {
            var line = StallLines.line(1).replacing("0x7ffbe1ccb12b", with: pc)
            line.withUTF8 { text in
                #expect(scanner.scan(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text).dropLast())) == nil)
                tree.add(scanner, group: 0, nanoseconds: 400_000_000)
            }
        }
        #expect(tree.nodes.count == 4)
        #expect(tree.nodes.map(\.nanoseconds).reduce(0, +) == 800_000_000)
        #expect(tree.nodes.last?.count == 2)
    }
}
