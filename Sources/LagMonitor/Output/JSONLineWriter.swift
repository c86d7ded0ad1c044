/// Writes one JSON text into a buffer of its own that is reused for the next: no allocation once it is warm.
///
/// It only knows JSON (RFC 8259), not records. The caller must open and close in order; keys and values are written in the order
/// of the calls. One thread at a time.
///
/// Strings: what is not well-formed UTF-8 becomes U+FFFD, one for each maximal subpart (Unicode 15, section 3.9,
/// "U+FFFD Substitution of Maximal Subparts"), and so does NUL, which several readers take for the end.
///
/// The appending functions are not inlined: a format calls them a hundred times, and the compile time would grow faster than the
/// code.
package struct JSONLineWriter: Sendable {
    private var bytes: [UInt8] = []
    /// Whether the next key or element needs a comma before it.
    private var needsComma = false

    /// - Parameter capacity: bytes to reserve; the buffer grows beyond that if necessary.
    package init(capacity: Int = LineLimits.defaultLineBytes + 1024) { bytes.reserveCapacity(max(0, capacity)) }

    package var count: Int { bytes.count }

    package mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
        needsComma = false
    }

    /// What was written, valid during the call.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let span = bytes.span
        return try span.withUnsafeBufferPointer { buffer throws(Failure) -> Result in
            try body(UnsafeRawBufferPointer(buffer))
        }
    }

    /// A position to return to with ``rollBack(to:)``.
    package struct Mark: Sendable {
        fileprivate let count: Int
        fileprivate let needsComma: Bool
    }

    /// The present position. Marks are valid until the next ``reset()``.
    package var mark: Mark { Mark(count: bytes.count, needsComma: needsComma) }

    /// Discards what was written since `mark`.
    package mutating func rollBack(to mark: Mark) {
        bytes.removeLast(max(0, bytes.count - mark.count))
        needsComma = mark.needsComma
    }

    package mutating func beginObject() { open(UInt8(ascii: "{")) }
    package mutating func endObject() { close(UInt8(ascii: "}")) }
    package mutating func beginArray() { open(UInt8(ascii: "[")) }
    package mutating func endArray() { close(UInt8(ascii: "]")) }

    package mutating func endLine() {
        bytes.append(UInt8(ascii: "\n"))
        needsComma = false
    }

    /// The key of the next value. It must need no escaping.
    @inline(never) package mutating func key(_ name: StaticString) {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "\""))
        unescaped(name)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// A label's name as the key of the next value.
    @inline(never) package mutating func key(label name: String) {
        value(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// A key from the program, cut like a value.
    @inline(never) package mutating func key(text name: String, maxBytes: Int) {
        value(name, maxBytes: maxBytes)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// An object of texts; none is cut.
    @inline(never) package mutating func value(_ labels: RecordLabels) {
        beginObject()
        for pair in labels.pairs {
            key(label: pair.name)
            value(pair.value)
        }
        endObject()
    }

    package mutating func value(_ flag: Bool) {
        separate()
        if flag { unescaped("true") } else { unescaped("false") }
    }

    @inline(never) package mutating func value(_ number: UInt64) {
        separate()
        decimal(number, digits: 1)
    }

    @inline(never) package mutating func value(_ number: Int64) {
        separate()
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        decimal(number.magnitude, digits: 1)
    }

    /// Thousandths as a number with three fractional digits: 1500 is `1.500`.
    @inline(never) package mutating func value(thousandths: UInt64) {
        separate()
        decimal(thousandths / 1000, digits: 1)
        bytes.append(UInt8(ascii: "."))
        decimal(thousandths % 1000, digits: 3)
    }

    /// Nanoseconds as a number of milliseconds with three fractional digits, rounded down to the microsecond, so that a duration
    /// below a threshold never reads as equal to it.
    package mutating func value(millisecondsOf nanoseconds: UInt64) { value(thousandths: nanoseconds / 1000) }

    /// A hex string, `"0x7f3a"`.
    @inline(never) package mutating func value(hex number: UInt64) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        Hexadecimal.append(number, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// A string value that needs no escaping.
    @inline(never) package mutating func value(_ text: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        unescaped(text)
        bytes.append(UInt8(ascii: "\""))
    }

    @inline(never) package mutating func value(_ id: StallID) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        id.forEachCharacter { bytes.append($0) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// A string value of at most `maxBytes` bytes between its quotes, including escapes. It is cut on the boundary of a Unicode
    /// scalar and never inside an escape.
    /// - Parameter keepingEnd: cut the front and keep the end, as suits a path.
    @inline(never) package mutating func value(_ text: String, maxBytes: Int = .max, keepingEnd: Bool = false) {
        var text = text
        text.withUTF8 { value(utf8: $0, maxBytes: maxBytes, keepingEnd: keepingEnd) }
    }

    /// The same for bytes that may not be UTF-8: a thread name, a symbol, a path.
    @inline(never) package mutating func value(
        utf8 text: UnsafeBufferPointer<UInt8>,
        maxBytes: Int = .max,
        keepingEnd: Bool = false
    ) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        JSONEscaping.append(utf8: text, maxBytes: maxBytes, keepingEnd: keepingEnd, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// A string value of the bytes that `body` appends; they must need no escaping. For fixed forms such as a time.
    package mutating func value(appending body: (inout [UInt8]) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        body(&bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    @inline(never) private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    @inline(never) private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func unescaped(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    private mutating func decimal(_ number: UInt64, digits: Int) { Decimal.append(number, digits: digits, to: &bytes) }
}
