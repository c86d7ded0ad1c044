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

    /// A string's text; nil when there is none.
    package borrowing func text(_ field: StallField) -> String? {
        guard let span = span(field), span.kind == .string else { return nil }
        return JSONString.text(bytes(of: span), hasEscapes: span.hasEscapes)
    }

    /// Whether a string is that word.
    package borrowing func has(_ field: StallField, _ word: StaticString) -> Bool {
        withText(field) { text in
            text.count == word.utf8CodeUnitCount && memcmp(text.baseAddress!, word.utf8Start, text.count) == 0
        } ?? false
    }

    /// A number of milliseconds in nanoseconds; nil when there is none, or a negative one.
    package borrowing func nanoseconds(_ field: StallField) -> UInt64? {
        guard let span = span(field), span.kind == .number else { return nil }
        return JSONNumber.nanoseconds(ofMilliseconds: bytes(of: span))
    }

    /// A whole number that is not negative.
    package borrowing func count(_ field: StallField) -> UInt64? {
        guard let span = span(field), span.kind == .number else { return nil }
        return JSONNumber.count(bytes(of: span))
    }

    package borrowing func number(_ field: StallField) -> Double? {
        guard let span = span(field), span.kind == .number else { return nil }
        return JSONNumber.double(bytes(of: span))
    }

    /// A time in nanoseconds since 1970; nil when there is none.
    package borrowing func time(_ field: StallField) -> Int64? {
        withText(field) { UTCTime.nanoseconds($0) } ?? nil
    }
}
