internal import LagReader

extension LineTally {
    /// A message about skipped lines; nil if there were none.
    var leftOut: String? {
        var parts: [String] = []
        if damaged > 0 { parts.append("\(damaged) damaged (not JSON, or longer than \(LineReader.maximumLineBytes) bytes)") }
        if incomplete > 0 { parts.append("\(incomplete) without the required fields (see lagmond check)") }
        if foreign > 0 { parts.append("\(foreign) of other programs") }
        for (format, count) in otherFormats.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            parts.append("\(count) in the format \(format); only native is read (setting output.format)")
        }
        return parts.isEmpty
            ? nil
            : "skipped \(damaged + incomplete + foreign + otherFormatCount) of \(lines) lines: " + parts.joined(separator: ", ")
    }
}
