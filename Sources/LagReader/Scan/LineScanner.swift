package import LagModel

/// Reads one line after the other: a single pass says whether it is JSON, and where its known fields are; what a field holds is
/// decoded when it is asked for.
///
/// Right for every JSON text: any order of members, spaces, escapes in names, values nested to ``JSONCursor/maximumDepth``. Of a
/// member that comes twice the last counts. One thread; the line must stay where it is until the next one.
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

    /// Looks at a line, without its newline.
    /// - Returns: nil when it is a JSON object, else what is wrong.
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
            // A null says nothing.
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

    /// Where a field's value is; nil when the line has none, or null.
    @inline(__always) package borrowing func span(_ field: StallField) -> JSONCursor.Span? {
        present & (1 << UInt128(field.rawValue)) == 0 ? nil : spans[Int(field.rawValue)]
    }

    /// The bytes of a field's value as they stand in the line, of a string without the quotes.
    @inline(__always) package borrowing func bytes(of span: JSONCursor.Span) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(
            start: line.baseAddress?.assumingMemoryBound(to: UInt8.self).advanced(by: span.offset),
            count: span.count
        )
    }

    /// Whose line it is that is none in the native format; nil: another program's.
    package var otherFormat: OtherFormat? { OtherFormat(line) }

    /// The whole line.
    package var bytes: UnsafeRawBufferPointer { line }
}
