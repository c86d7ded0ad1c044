internal import LagModel
internal import LagOutput
internal import LagReader

/// The input of the page's script: JSON in the page. Times are milliseconds since 1970, durations milliseconds.
struct ReportData {
    let report: Report
    var traceLink: String?

    /// The limit for a culprit or a fingerprint; the page's tables show more.
    private static let maximumGroupNameBytes = 200
    /// The limit for the names of all frames together, and the length that each may have in any case.
    private static let maximumNameBytes = 800_000
    private static let leastNameBytes = 40

    /// `<` is escaped, so that no text can end the element that contains it.
    func bytes() -> [UInt8] {
        var writer = JSONLineWriter(capacity: 1 << 20)
        writer.beginObject()
        texts("causes", StallGroup.causes, &writer)
        writer.key("rows")
        writer.beginArray()
        for edge in DurationRow.edges { writer.value(edge) }
        writer.endArray()
        if let traceLink { writer.field("trace_link", traceLink, traceLink.utf8.count) }
        writer.field("others", UInt64(report.otherGroupCount))
        writer.key("groups")
        writer.beginArray()
        for group in report.groups { write(group, &writer) }
        writer.endArray()
        writeTrees(&writer)
        writer.key("heat")
        write(report.heat, &writer)
        writer.key("lane_cells")
        write(report.laneCells, &writer)
        writer.key("lanes")
        writer.beginArray()
        for lane in report.lanes {
            writer.beginArray()
            writer.value(lane.host)
            writer.value(lane.process)
            writer.value(lane.pid)
            writer.value(lane.loop)
            writer.value(lane.count)
            writer.value(millisecondsOf: lane.nanoseconds)
            writer.endArray()
        }
        writer.endArray()
        writer.field("lane_count", UInt64(report.laneCount))
        writeMarks(&writer)
        writer.key("details")
        writer.beginArray()
        for detail in report.details { writer.value(UInt64(max(0, detail.group))) }
        writer.endArray()
        writer.endObject()
        return writer.withBytes { Self.sanitized(Array($0)) }
    }

    /// JSON that is safe in an HTML element and as a file; invalid UTF-8 is replaced.
    static func sanitized(_ json: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(json.count)
        for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
            // In JSON, these occur only in strings, except spaces.
            guard scalar == "<" || scalar.value >= 0x7f && PlainText.isControl(scalar) else {
                output += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
                continue
            }
            for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                let digits = String(unit, radix: 16)
                output += Array("\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8)
            }
        }
        return output
    }

    /// The size of JSON in the page, in bytes.
    static func size(_ json: [UInt8]) -> Int {
        // Plain text, the usual case, does not become longer.
        json.allSatisfy { $0 < 0x7f && $0 != UInt8(ascii: "<") } ? json.count : sanitized(json).count
    }

    /// Text with at most `most` bytes in the page; longer text ends with an ellipsis.
    private static func cut(_ text: String, _ most: Int) -> String {
        guard size(Array(text.utf8)) > most else { return text }
        var rest = most
        let kept = text.prefix { character in
            rest -= size(Array(character.utf8))
            return rest >= 0
        }
        return kept + "…"
    }

    private func write(_ group: Report.Group, _ writer: inout JSONLineWriter) {
        let stalls = group.stalls
        writer.beginObject()
        writer.key("fingerprint")
        writer.value(Self.cut(String(decoding: stalls.key, as: UTF8.self), Self.maximumGroupNameBytes))
        writer.key("culprit")
        let culprit = group.index == nil ? "" : String(decoding: stalls.culprit.text, as: UTF8.self)
        writer.value(Self.cut(culprit, Self.maximumGroupNameBytes))
        writer.key("cause")
        writer.value(stalls.cause)
        writer.key("count")
        writer.value(stalls.count)
        writer.field("total", millisecondsOf: stalls.weight)
        writer.key("is_rest")
        writer.value(group.index == nil)
        writer.key("details")
        writer.beginArray()
        for index in group.details { writer.value(UInt64(index)) }
        writer.endArray()
        writer.endObject()
    }

    /// A tree is a flat list, five numbers per node: parent, frame, total and own milliseconds, and milliseconds of what was left
    /// out. Children of one parent may have the same frame.
    private func writeTrees(_ writer: inout JSONLineWriter) {
        var indices: [StackTree.FrameKey: Int] = [:]
        var origins: [String: Set<StackTree.Origin>] = [:]
        for group in report.groups {
            for node in group.tree.nodes { origins[node.frame.name, default: []].insert(node.frame.origin) }
        }
        /// A bare name gets the known origin and module of that name, if these are unambiguous.
        func settled(_ frame: StackTree.Frame) -> StackTree.FrameKey {
            let known = (origins[frame.name] ?? []).subtracting([.unknown])
            return StackTree.FrameKey(
                name: frame.name,
                origin: frame.origin == .unknown && known.count == 1 ? known.first! : frame.origin
            )
        }
        var frames: [StackTree.Frame] = []
        writer.key("trees")
        writer.beginArray()
        for group in report.groups {
            writer.beginArray()
            for node in group.tree.nodes {
                let key = settled(node.frame)
                let index = indices[key] ?? frames.count
                if index == frames.count {
                    indices[key] = index
                    frames.append(StackTree.Frame(name: key.name, module: node.frame.module, origin: key.origin))
                } else {
                    frames[index].learn(node.frame)
                }
                writer.value(Int64(node.parent))
                writer.value(UInt64(index))
                for weight in [node.nanoseconds, node.ownNanoseconds, node.prunedNanoseconds] {
                    writer.value(millisecondsOf: weight)
                }
            }
            writer.endArray()
        }
        writer.endArray()
        writer.key("frames")
        writer.beginArray()
        let most = max(Self.leastNameBytes, Self.maximumNameBytes / max(1, frames.count))
        for frame in frames {
            writer.beginArray()
            writer.value(Self.cut(frame.name, most))
            writer.value(Self.cut(frame.module, most))
            writer.value(UInt64(frame.origin == .program ? 1 : 0))
            writer.endArray()
        }
        writer.endArray()
    }

    /// A flat list, five numbers per cell: series, column (from the first), row, count, milliseconds.
    private func write(_ cells: TimeCells, _ writer: inout JSONLineWriter) {
        let first = cells.cells.isEmpty ? 0 : cells.firstColumn
        writer.beginObject()
        writer.field("width", millisecondsOf: UInt64(cells.width))
        writer.field("start", Int64(first * (cells.width / 1_000_000)))
        writer.field("columns", UInt64(max(0, cells.columnCount)))
        writer.key("cells")
        writer.beginArray()
        for (key, sum) in cells.sorted {
            writer.value(Int64(key.series))
            writer.value(Int64(key.column - first))
            writer.value(Int64(key.row))
            writer.value(sum.count)
            writer.value(millisecondsOf: sum.nanoseconds)
        }
        writer.endArray()
        writer.endObject()
    }

    /// A flat list, seven numbers per stall: start, length, group, lane, cause, phase (0 end, 1 begin, 2 abandoned), detail or
    /// -1.
    private func writeMarks(_ writer: inout JSONLineWriter) {
        let details = Dictionary(report.details.enumerated().map { ($1.id, $0) }) { first, _ in first }
        writer.key("marks")
        writer.beginArray()
        for mark in report.marks {
            writer.value(mark.time / 1_000_000)
            writer.value(millisecondsOf: mark.nanoseconds)
            writer.value(Int64(mark.group))
            writer.value(Int64(mark.lane))
            writer.value(UInt64(mark.cause))
            writer.value(UInt64(mark.phase == .end ? 0 : mark.phase == .begin ? 1 : 2))
            writer.value(Int64(details[mark.id] ?? -1))
        }
        writer.endArray()
    }

    private func texts(_ key: StaticString, _ texts: [String], _ writer: inout JSONLineWriter) {
        writer.key(key)
        writer.beginArray()
        for text in texts { writer.value(text) }
        writer.endArray()
    }
}
