package import LagModel

/// Scans one line after the other: a single pass checks that it is JSON, and finds its known fields; a field's value is
/// decoded on demand.
///
/// Correct for every JSON text: any order of members, spaces, escapes in names, values nested to ``JSONCursor/maximumDepth``. If
/// a member is duplicated, the last counts. One thread; the line must not move until the next one is scanned.
package struct LineScanner: ~Copyable {
    private let names = FieldNames()
    private let spans: UnsafeMutablePointer<JSONCursor.Span>
    private var present: UInt128 = 0
    private var line = UnsafeRawBufferPointer(start: nil, count: 0)

    package init() {
        let count = StallField.allCases.count
        spans = .allocate(capacity: count)
        spans.initialize(repeating: JSONCursor.Span(offset: 0, count: 0, hasEscapes: false, kind: .null), count: count)
    }

    deinit { spans.deallocate() }

    /// Scans a line, without its newline.
    /// - Returns: nil if it is a JSON object, otherwise the error.
    package mutating func scan(_ line: UnsafeRawBufferPointer) -> JSONCursor.Failure? {
        self.line = line
        present = 0
        var cursor = JSONCursor(line)
        cursor.skipSpaces()
        let isObject = cursor.members { cursor, name, hasEscapes in
            let field = hasEscapes ? slowField(name) : names.field(named: name)
            guard let field else { return cursor.skipValue(depth: 1) }
            guard let span = cursor.value(depth: 1) else { return false }
            spans[Int(field.rawValue)] = span
            // A null counts as absent.
            if span.kind == .null { present &= ~(1 << UInt128(field.rawValue)) } else { present |= 1 << UInt128(field.rawValue) }
            return true
        }
        guard isObject, cursor.isAtEndOfText() else {
            present = 0
            return cursor.failure
        }
        return nil
    }

    @inline(never) private borrowing func slowField(_ name: UnsafeBufferPointer<UInt8>) -> StallField? {
        JSONString.bytes(name).withUnsafeBufferPointer { names.field(named: $0) }
    }

    /// The position of a field's value; nil if the line has none, or null.
    @inline(__always) package borrowing func span(_ field: StallField) -> JSONCursor.Span? {
        present & (1 << UInt128(field.rawValue)) == 0 ? nil : spans[Int(field.rawValue)]
    }

    /// The bytes of a field's value as written in the line; for a string, without the quotes.
    @inline(__always) package borrowing func bytes(of span: JSONCursor.Span) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(
            start: line.baseAddress?.assumingMemoryBound(to: UInt8.self).advanced(by: span.offset),
            count: span.count
        )
    }

    /// Our other format, for a line that is not in the native format; nil: another program's line.
    package var otherFormat: OtherFormat? { OtherFormat(line) }

    /// The whole line.
    package var bytes: UnsafeRawBufferPointer { line }
}
