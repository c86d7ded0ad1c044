internal import LagOutput

/// A file of speedscope (https://www.speedscope.app/file-format-schema.json): one sampled profile, weights in milliseconds.
enum SpeedscopeFile {
    static func text(_ tree: CallTree, name: String, version: String) -> [UInt8] {
        let leaves = tree.nodes.indices.filter { tree.nodes[$0].nanoseconds > 0 }
        var writer = JSONLineWriter()
        writer.beginObject()
        writer.key("$schema")
        writer.value("https://www.speedscope.app/file-format-schema.json")
        writer.key("exporter")
        writer.value("lagmond@\(version)")
        writer.key("name")
        writer.value(name)
        writer.field("activeProfileIndex", UInt64(0))
        writer.key("shared")
        writer.beginObject()
        writer.key("frames")
        writer.beginArray()
        for frame in tree.frames { write(frame, &writer) }
        writer.endArray()
        writer.endObject()
        writer.key("profiles")
        writer.beginArray()
        writer.beginObject()
        writer.key("type")
        writer.value("sampled")
        writer.key("name")
        writer.value(name)
        writer.key("unit")
        writer.value("milliseconds")
        writer.field("startValue", UInt64(0))
        writer.field("endValue", millisecondsOf: leaves.reduce(0) { $0 &+ tree.nodes[$1].nanoseconds })
        writer.key("samples")
        writer.beginArray()
        for leaf in leaves {
            writer.beginArray()
            for frame in tree.path(of: leaf) { writer.value(UInt64(frame)) }
            writer.endArray()
        }
        writer.endArray()
        writer.key("weights")
        writer.beginArray()
        for leaf in leaves { writer.value(millisecondsOf: tree.nodes[leaf].nanoseconds) }
        writer.endArray()
        writer.endObject()
        writer.endArray()
        writer.endObject()
        writer.endLine()
        return writer.withBytes { Array($0) }
    }

    private static func write(_ frame: ExportFrame, _ writer: inout JSONLineWriter) {
        writer.beginObject()
        writer.key("name")
        writer.value(frame.name)
        if let file = frame.file {
            writer.key("file")
            writer.value(file)
            if let line = frame.line, line > 0 { writer.field("line", line) }
        }
        writer.endObject()
    }
}
