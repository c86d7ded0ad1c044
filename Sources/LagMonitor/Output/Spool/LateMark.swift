/// Marks a finished line as late: it was kept on disk, and is sent after newer events happened.
///
/// In the native format it is the field `late` at the end of the line, elsewhere what that field is there (`lagmonitor.late`).
enum LateMark {
    /// How a format's lines begin and end, and what is put before their end.
    private struct Form: Sendable {
        let opening: [UInt8]
        let closing: [UInt8]
        let member: [UInt8]

        init(_ opening: String, _ closing: String, _ member: String = #""late":true"#) {
            (self.opening, self.closing, self.member) = (Array(opening.utf8), Array(closing.utf8), Array(member.utf8))
        }
    }

    private static func form(of format: RecordFormat) -> Form {
        switch format {
        case .native: Form(#"{"schema":"#, "}\n")
        case .otlp: Form(#"{"resourceLogs":["#, "]}]}]}]}\n", #"{"key":"lagmonitor.late","value":{"boolValue":true}}"#)
        case .ecs: Form(#"{"@timestamp":"#, "}}\n")
        case .sentry: Form(#"{"event_id":"#, "}}}\n")
        }
    }

    private static let forms = RecordFormat.allCases.map(form)

    /// How much longer a marked line is.
    static func byteCount(in format: RecordFormat) -> Int { form(of: format).member.count + 1 }

    /// The line, marked; as it is, where it is of no known format.
    static func marked(_ line: [UInt8]) -> [UInt8] {
        let form = forms.first { form in
            line.count > form.opening.count + form.closing.count && line.starts(with: form.opening)
                && line.suffix(form.closing.count).elementsEqual(form.closing)
        }
        guard let form else { return line }
        let end = line.count - form.closing.count
        let isFirst = [UInt8(ascii: "{"), UInt8(ascii: "[")].contains(line[end - 1])
        return line[..<end] + (isFirst ? [] : [UInt8(ascii: ",")]) + form.member + form.closing
    }
}

extension LineLimits {
    /// For lines that may be kept and marked afterwards, so that these are within the limit too, if it is not the least that is allowed.
    package func leavingRoomForLateMark(in format: RecordFormat) -> LineLimits {
        LineLimits(unchecked: max(Self.allowedLineBytes.lowerBound, maxLineBytes - LateMark.byteCount(in: format)))
    }
}
