internal import LagModel

/// Checks lines against the schema: every field of ``FieldTable``, and relations between fields. Unknown fields are
/// allowed because the schema may grow. One thread.
package struct LineCheck: ~Copyable {
    private var scanner = LineScanner()

    /// The rounding error: each of four numbers has three fractional digits of a millisecond.
    private static let roundingNanoseconds: UInt64 = 4000

    package init() {}

    /// The errors of a line, each with the name of the field; empty if there are none.
    package mutating func validationErrors(in line: UnsafeRawBufferPointer) -> [String] {
        if let failure = scanner.scan(line) { return ["not a JSON object: \(failure)"] }
        if scanner.span(.schema) == nil, let format = scanner.otherFormat {
            return ["in the format \(format); only native is read"]
        }
        var validationErrors = textErrors(line)
        if let name = DuplicateName.first(in: line) { validationErrors.append("\(name) appears twice") }
        guard let event = event(&validationErrors) else { return validationErrors }
        let check = ContentCheck(text: line)
        for rule in FieldTable.all where rule.field != .event {
            if let span = scanner.span(rule.field) {
                if let validationError = check.validationError(rule.content, span) {
                    validationErrors.append(
                        "\(rule.name)\(validationError.hasPrefix("[") || validationError.hasPrefix(".") ? "" : " ")\(validationError)"
                    )
                }
            } else if rule.required.contains(FieldDefinition.Events(event)) {
                validationErrors.append("\(rule.name) is missing")
            }
        }
        if validationErrors.isEmpty { addContradictions(to: &validationErrors) }
        return validationErrors
    }

    /// A later version may add events; an unknown event needs only the fields that all lines have.
    private borrowing func event(_ validationErrors: inout [String]) -> LineEvent? {
        guard let name = scanner.text(.event) else {
            validationErrors.append(scanner.span(.event) == nil ? "event is missing" : "event is not a string")
            return nil
        }
        if let known = LineEvent(rawValue: name) { return known }
        let allowed = LineEvent.allCases.map(\.rawValue).joined(separator: ", ")
        validationErrors.append("event is \"\(name)\"; allowed: \(allowed)")
        return nil
    }

    private borrowing func addContradictions(to validationErrors: inout [String]) {
        if let samples = scanner.count(.samples), let matched = scanner.count(.samplesMatched), matched > samples {
            validationErrors.append("samples_matched is \(matched), more than samples, \(samples)")
        }
        if let least = scanner.nanoseconds(.durationMinimum), let most = scanner.nanoseconds(.durationMaximum), least > most {
            validationErrors.append("duration_min_ms is more than duration_max_ms")
        }
        if let duration = scanner.nanoseconds(.duration),
            duration < scanner.nanoseconds(.durationMinimum) ?? 0 || duration > scanner.nanoseconds(.durationMaximum) ?? .max
        {
            validationErrors.append("duration_ms is not between duration_min_ms and duration_max_ms")
        }
        if let duration = scanner.nanoseconds(.duration), let cpu = scanner.nanoseconds(.cpu),
            let delay = scanner.nanoseconds(.runDelay), let blocked = scanner.nanoseconds(.blocked)
        {
            let sum = cpu.saturatingSum(delay).saturatingSum(blocked)
            if max(sum, duration) - min(sum, duration) > Self.roundingNanoseconds {
                validationErrors.append("cpu_ms, run_delay_ms and blocked_ms do not sum to duration_ms")
            }
        }
        if let first = scanner.time(.firstTime), let last = scanner.time(.lastTime), first > last {
            validationErrors.append("first_time is after last_time")
        }
        if scanner.has(.capture, "none"), let span = scanner.span(.frames), span.count > 2 {
            validationErrors.append("capture is \"none\" but frames are present")
        }
    }

    /// Text that breaks readers: invalid UTF-8, `\u0000`, half of a surrogate pair.
    private borrowing func textErrors(_ line: UnsafeRawBufferPointer) -> [String] {
        var validationErrors: [String] = []
        if String(validating: line, as: UTF8.self) == nil { validationErrors.append("invalid UTF-8") }
        var index = 0
        while index < line.count {
            guard line[index] == UInt8(ascii: "\\") else {
                index += 1
                continue
            }
            guard let unit = Self.unit(in: line, at: index) else {
                index += 2
                continue
            }
            index += 6
            if unit == 0 { validationErrors.append("a string with \\u0000") }
            switch unit & 0xfc00 {
            case 0xd800 where Self.unit(in: line, at: index).map { $0 & 0xfc00 == 0xdc00 } ?? false: index += 6
            case 0xd800, 0xdc00: validationErrors.append("a string with half of a surrogate pair")
            default: break
            }
        }
        return validationErrors
    }

    /// The code unit of the `\uXXXX` at a position; nil if there is no such escape.
    private static func unit(in line: UnsafeRawBufferPointer, at place: Int) -> UInt32? {
        guard place + 6 <= line.count, line[place] == UInt8(ascii: "\\"), line[place + 1] == UInt8(ascii: "u") else { return nil }
        return line[place + 2..<place + 6].reduce(0) { $0 << 4 | UInt32(Hexadecimal.value($1) ?? 0) }
    }
}
