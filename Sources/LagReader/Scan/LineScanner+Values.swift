internal import Glibc
package import LagModel

extension LineScanner {
    /// The bytes of a string, escapes undone, handed to `body`; nil when there is no such string.
    package borrowing func withText<Result>(
        _ field: StallField,
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result? {
        guard let span = span(field), span.kind == .string else { return nil }
        guard span.hasEscapes else { return body(bytes(of: span)) }
        return JSONString.bytes(bytes(of: span)).withUnsafeBufferPointer(body)
    }

    /// A field's value, as whatever it is asked for.
    package borrowing func value(_ field: StallField) -> LineValue? { span(field).map { LineValue(bytes, $0) } }

    /// A string's text; nil when there is none.
    package borrowing func text(_ field: StallField) -> String? { value(field)?.text }

    /// The bytes of a label's value, escapes undone, handed to `body`; nil where the line has no such label.
    package borrowing func withLabel<Result>(
        _ name: String,
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result? {
        var found: (span: JSONCursor.Span, object: UnsafeBufferPointer<UInt8>)?
        // Of a member that comes twice the last counts.
        forEachLabel { member, hasEscapes, span, object in
            let isMeant = hasEscapes ? JSONString.text(member, hasEscapes: true) == name : member.elementsEqual(name.utf8)
            if isMeant { found = (span, object) }
        }
        guard let (span, object) = found, span.kind == .string else { return nil }
        let text = UnsafeBufferPointer(rebasing: object[span.offset..<span.offset + span.count])
        guard span.hasEscapes else { return body(text) }
        return JSONString.bytes(text).withUnsafeBufferPointer(body)
    }

    /// The labels of the line; members that are no labels are left out.
    package borrowing func labels() -> RecordLabels {
        var values: [String: String] = [:]
        forEachLabel { name, hasEscapes, span, object in
            guard span.kind == .string else { return }
            let text = UnsafeBufferPointer(rebasing: object[span.offset..<span.offset + span.count])
            values[JSONString.text(name, hasEscapes: hasEscapes)] = JSONString.text(text, hasEscapes: span.hasEscapes)
        }
        return RecordLabels(claimed: values)
    }

    /// - Parameter body: gets a member's name, whether that has escapes, where in the object its value is, and the object.
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

    /// Whether a string is that word.
    package borrowing func has(_ field: StallField, _ word: StaticString) -> Bool {
        withText(field) { text in
            text.count == word.utf8CodeUnitCount && memcmp(text.baseAddress!, word.utf8Start, text.count) == 0
        } ?? false
    }

    /// A number of milliseconds in nanoseconds; nil when there is none, or a negative one.
    package borrowing func nanoseconds(_ field: StallField) -> UInt64? { value(field)?.milliseconds }

    /// A whole number that is not negative.
    package borrowing func count(_ field: StallField) -> UInt64? { value(field)?.count }

    package borrowing func number(_ field: StallField) -> Double? { value(field)?.number }

    /// A time in nanoseconds since 1970; nil when there is none.
    package borrowing func time(_ field: StallField) -> Int64? {
        withText(field) { UTCTime.nanoseconds($0) } ?? nil
    }
}
