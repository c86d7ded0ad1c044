internal import Glibc
package import LagModel

extension LineScanner {
    /// Passes the unescaped bytes of a string to `body`; nil if there is no such string.
    package borrowing func withText<Result>(
        _ field: StallField,
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result? {
        guard let span = span(field), span.kind == .string else { return nil }
        guard span.hasEscapes else { return body(bytes(of: span)) }
        return JSONString.bytes(bytes(of: span)).withUnsafeBufferPointer(body)
    }

    /// A field's value, to be read as any type.
    package borrowing func value(_ field: StallField) -> LineValue? { span(field).map { LineValue(bytes, $0) } }

    /// A string's text; nil if there is none.
    package borrowing func text(_ field: StallField) -> String? { value(field)?.text }

    /// Passes the unescaped bytes of a label's value to `body`; nil if the line has no such label.
    package borrowing func withLabel<Result>(
        _ name: String,
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result? {
        var found: (span: JSONCursor.Span, object: UnsafeBufferPointer<UInt8>)?
        // If a member is duplicated, the last counts.
        forEachLabel { member, hasEscapes, span, object in
            let isMeant = hasEscapes ? JSONString.text(member, hasEscapes: true) == name : member.elementsEqual(name.utf8)
            if isMeant { found = (span, object) }
        }
        guard let (span, object) = found, span.kind == .string else { return nil }
        let text = UnsafeBufferPointer(rebasing: object[span.offset..<span.offset + span.count])
        guard span.hasEscapes else { return body(text) }
        return JSONString.bytes(text).withUnsafeBufferPointer(body)
    }

    /// Passes the unescaped bytes of the running request's name to `body`; nil if the line has none.
    package borrowing func withRequestName<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result? {
        guard let span = span(.request), span.kind == .object else { return nil }
        let object = bytes(of: span)
        var found: JSONCursor.Span?
        var cursor = JSONCursor(UnsafeRawBufferPointer(object))
        _ = cursor.members { cursor, name, _ in
            guard let value = cursor.value() else { return false }
            if name.elementsEqual("name".utf8) { found = value }
            return true
        }
        guard let found, found.kind == .string else { return nil }
        let text = UnsafeBufferPointer(rebasing: object[found.offset..<found.offset + found.count])
        guard found.hasEscapes else { return body(text) }
        return JSONString.bytes(text).withUnsafeBufferPointer(body)
    }

    /// The labels of the line; invalid labels are omitted.
    package borrowing func labels() -> RecordLabels {
        var values: [String: String] = [:]
        forEachLabel { name, hasEscapes, span, object in
            guard span.kind == .string else { return }
            let text = UnsafeBufferPointer(rebasing: object[span.offset..<span.offset + span.count])
            values[JSONString.text(name, hasEscapes: hasEscapes)] = JSONString.text(text, hasEscapes: span.hasEscapes)
        }
        return RecordLabels(claimed: values)
    }

    /// - Parameter body: gets a member's name, whether the name has escapes, the position of its value in the object, and the
    ///   object.
    private borrowing func forEachLabel(
        _ body: (UnsafeBufferPointer<UInt8>, Bool, JSONCursor.Span, UnsafeBufferPointer<UInt8>) -> Void
    ) {
        guard let span = span(.labels), span.kind == .object else { return }
        let object = bytes(of: span)
        var cursor = JSONCursor(UnsafeRawBufferPointer(object))
        _ = cursor.members { cursor, name, hasEscapes in
            guard let value = cursor.value() else { return false }
            body(name, hasEscapes, value, object)
            return true
        }
    }

    /// Whether the line has all of these labels, with these values.
    package borrowing func has(_ labels: RecordLabels) -> Bool {
        for label in labels.pairs where withLabel(label.name, { $0.elementsEqual(label.value.utf8) }) != true { return false }
        return true
    }

    /// Whether a string field has this value.
    package borrowing func has(_ field: StallField, _ word: StaticString) -> Bool {
        withText(field) { text in
            text.count == word.utf8CodeUnitCount && memcmp(text.baseAddress!, word.utf8Start, text.count) == 0
        } ?? false
    }

    /// A number of milliseconds, in nanoseconds; nil if there is none or it is negative.
    package borrowing func nanoseconds(_ field: StallField) -> UInt64? { value(field)?.milliseconds }

    /// A non-negative whole number.
    package borrowing func count(_ field: StallField) -> UInt64? { value(field)?.count }

    package borrowing func number(_ field: StallField) -> Double? { value(field)?.number }

    /// A time in nanoseconds since 1970; nil if there is none.
    package borrowing func time(_ field: StallField) -> Int64? {
        withText(field) { UTCTime.nanoseconds($0) } ?? nil
    }
}
