internal import LagModel

/// Checks a value against the content that its field allows.
struct ContentCheck {
    /// The bytes that the value's position refers to.
    let text: UnsafeRawBufferPointer

    private static let longestExcerpt = 40

    /// The error of a value, to follow the field's name: `is "x"; allowed: …`. Nil if it is valid.
    func validationError(_ content: FieldContent, _ span: JSONCursor.Span) -> String? {
        switch content {
        case .schema: oneOf(["\(StallRecord.schema)"], span)
        case .event: oneOf(LineEvent.allCases.map(\.rawValue), span)
        case .oneOf(let words): oneOf(words, span)
        case .text, .path, .word: span.kind == .string ? nil : wrong(span, "a string")
        case .time:
            expect(span, "a UTC time with nine fractional digits and Z") {
                $0.utf8.count == 30 && $0.hasSuffix("Z") && $0.utf8.dropFirst(10).first == UInt8(ascii: "T")
                    && UTCTime.nanoseconds($0) != nil
            }
        case .stallID: expect(span, "a UUID of version 7, in lower case", Self.isStallID)
        case .fingerprint:
            expect(span, "v1: and 16 hex digits") { $0.hasPrefix("v1:") && Hexadecimal.isText($0.utf8.dropFirst(3), of: 16...16) }
        case .stackHash: expect(span, "16 hex digits in lower case") { Hexadecimal.isText($0.utf8, of: 16...16) }
        case .traceID: expect(span, "32 hex digits in lower case") { Hexadecimal.isText($0.utf8, of: 32...32) }
        case .bootID: expect(span, "32 hex digits in lower case") { Hexadecimal.isText($0.utf8, of: 32...32) }
        case .address:
            expect(span, "0x and 1 to 16 hex digits in lower case") {
                $0.hasPrefix("0x") && Hexadecimal.isText($0.utf8.dropFirst(2), of: 1...16)
            }
        case .milliseconds, .seconds: isDecimal(span) ? nil : wrong(span, "a number with a fraction, 0 or more")
        case .share:
            span.kind == .number && (JSONNumber.double(bytes(span)).map { (0...1).contains($0) } ?? false)
                ? nil : wrong(span, "a number from 0 to 1")
        case .count:
            span.kind == .number && JSONNumber.count(bytes(span)) != nil ? nil : wrong(span, "a whole number, 0 or more")
        case .taskID:
            integer(span).map { (0...Int64(Int32.max)).contains($0) } ?? false
                ? nil : wrong(span, "a whole number from 0 to \(Int32.max)")
        case .int32, .integer: integer(span) != nil ? nil : wrong(span, "a whole number")
        case .flag: span.kind == .boolean ? nil : wrong(span, "true or false")
        case .kinds: elements(span, "an array of rules") { oneOf(StallRecord.Kind.allCases.map(\.rawValue), $0) }
        case .texts: elements(span, "an array of strings") { validationError(.text, $0) }
        case .labels: labels(span)
        case .frames: elements(span, "an array of frames") { members($0, "a frame", NestedField.frame) }
        case .thread: members(span, "a thread", NestedField.thread)
        case .threads: elements(span, "an array of threads") { members($0, "a thread", NestedField.thread) }
        case .threadIDs: elements(span, "an array of thread ids") { validationError(.taskID, $0) }
        case .workers:
            elements(span, "an array of groups of threads") { members($0, "a group of threads", NestedField.workerGroup) }
        case .request: members(span, "a request", NestedField.request)
        case .requests: elements(span, "an array of requests") { members($0, "a request", NestedField.request) }
        case .task: members(span, "a task", NestedField.task)
        case .attributes: attributes(span)
        case .sampleTree: elements(span, "an array of samples") { members($0, "a sample", NestedField.sampleNode) }
        }
    }

    private func oneOf(_ words: [String], _ span: JSONCursor.Span) -> String? {
        expect(span, words.joined(separator: ", ")) { words.contains($0) }
    }

    func bytes(_ span: JSONCursor.Span) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: text.bindMemory(to: UInt8.self)[span.offset..<span.offset + span.count])
    }

    /// The first problem of an array's elements, with the element's index.
    private func elements(
        _ span: JSONCursor.Span,
        _ allowed: String,
        _ check: (JSONCursor.Span) -> String?
    ) -> String? {
        guard span.kind == .array else { return wrong(span, allowed) }
        var cursor = JSONCursor(UnsafeRawBufferPointer(bytes(span)))
        var index = 0
        var found: String?
        _ = cursor.elements { cursor in
            guard let element = cursor.value() else { return false }
            found = check(element.moved(by: span.offset)).map { "[\(index)]\($0.hasPrefix(".") ? "" : " ")\($0)" }
            index += 1
            return found == nil
        }
        return found
    }

    /// The first problem of an object's members.
    private func members(_ span: JSONCursor.Span, _ allowed: String, _ rules: [NestedField]) -> String? {
        guard span.kind == .object else { return wrong(span, allowed) }
        var cursor = JSONCursor(UnsafeRawBufferPointer(bytes(span)))
        var seen: Set<String> = []
        var found: String?
        _ = cursor.members { cursor, name, hasEscapes in
            let name = JSONString.text(name, hasEscapes: hasEscapes)
            guard let member = cursor.value() else { return false }
            guard let rule = rules.first(where: { "\($0.name)" == name }) else { return true }
            seen.insert(name)
            found = validationError(rule.content, member.moved(by: span.offset)).map {
                ".\(name)\($0.hasPrefix("[") ? "" : " ")\($0)"
            }
            return found == nil
        }
        return found ?? rules.first { $0.isRequired && !seen.contains("\($0.name)") }.map { ".\($0.name) is missing" }
    }

    /// An object of strings whose names are label names. Later versions may allow more names.
    private func labels(_ span: JSONCursor.Span) -> String? {
        let allowed = "an object of strings"
        guard span.kind == .object else { return wrong(span, allowed) }
        var cursor = JSONCursor(UnsafeRawBufferPointer(bytes(span)))
        var found: String?
        _ = cursor.members { cursor, name, hasEscapes in
            guard let member = cursor.value() else { return false }
            let text = JSONString.text(name, hasEscapes: hasEscapes)
            if !RecordLabels.isName(text.utf8) {
                found = "has a name \"\(text.prefix(Self.longestExcerpt))\"; allowed: a letter and letters, digits, _ or -"
            } else if member.kind != .string {
                found = ".\(text) " + wrong(member.moved(by: span.offset), "a string")
            }
            return found == nil
        }
        return found
    }

    /// An object of strings, with any names.
    private func attributes(_ span: JSONCursor.Span) -> String? {
        guard span.kind == .object else { return wrong(span, "an object of strings") }
        var cursor = JSONCursor(UnsafeRawBufferPointer(bytes(span)))
        var found: String?
        _ = cursor.members { cursor, name, hasEscapes in
            guard let member = cursor.value() else { return false }
            guard member.kind != .string else { return true }
            found = ".\(JSONString.text(name, hasEscapes: hasEscapes)) " + wrong(member.moved(by: span.offset), "a string")
            return false
        }
        return found
    }

    private func expect(_ span: JSONCursor.Span, _ allowed: String, _ isAllowed: (String) -> Bool) -> String? {
        guard span.kind == .string, isAllowed(JSONString.text(bytes(span), hasEscapes: span.hasEscapes)) else {
            return wrong(span, allowed)
        }
        return nil
    }

    private func wrong(_ span: JSONCursor.Span, _ allowed: String) -> String {
        let found = bytes(span)
        let text =
            String(decoding: found.prefix(Self.longestExcerpt), as: UTF8.self) + (found.count > Self.longestExcerpt ? "…" : "")
        return "is \(span.kind == .string ? "\"\(text)\"" : text); allowed: \(allowed)"
    }

    private func isDecimal(_ span: JSONCursor.Span) -> Bool {
        guard span.kind == .number else { return false }
        let bytes = bytes(span)
        return bytes.contains(UInt8(ascii: ".")) && bytes.first != UInt8(ascii: "-") && JSONNumber.double(bytes) != nil
    }

    private func integer(_ span: JSONCursor.Span) -> Int64? {
        span.kind == .number ? Int64(String(decoding: bytes(span), as: UTF8.self)) : nil
    }

    /// RFC 9562: 8-4-4-4-12 hex digits, version 7, variant 0b10.
    private static func isStallID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [8, 4, 4, 4, 12], parts.allSatisfy({ Hexadecimal.isText($0.utf8, of: 4...12) }) else {
            return false
        }
        return parts[2].first == "7" && "89ab".contains(parts[3].first ?? "0")
    }
}

extension JSONCursor.Span {
    /// The same position, relative to another start.
    fileprivate func moved(by offset: Int) -> JSONCursor.Span {
        JSONCursor.Span(offset: self.offset + offset, count: count, hasEscapes: hasEscapes, kind: kind)
    }
}
