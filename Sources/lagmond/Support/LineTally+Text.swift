internal import LagReader

extension LineTally {
    /// A message about what was skipped; nil when nothing was.
    var leftOut: String? {
        var parts: [String] = []
        if damaged > 0 { parts.append("\(damaged) damaged (no JSON, or longer than \(LineReader.maximumLineBytes) bytes)") }
        if incomplete > 0 { parts.append("\(incomplete) without the required fields (see lagmond check)") }
        if foreign > 0 { parts.append("\(foreign) of other programs") }
        return parts.isEmpty
            ? nil : "skipped \(damaged + incomplete + foreign) of \(lines) lines: " + parts.joined(separator: ", ")
    }
}

/// Text that goes to a terminal or into a column.
enum PlainText {
    /// Without control characters, which a hostile record could use to change what a terminal shows.
    static func sanitized(_ bytes: some Sequence<UInt8>) -> String {
        let text = String(decoding: Array(bytes), as: UTF8.self)
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var clean = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { clean.append(isControl(scalar) ? "\u{fffd}" : scalar) }
        return String(clean)
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
