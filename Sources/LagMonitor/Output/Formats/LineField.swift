/// One field of the native schema, on its way into another format.
struct LineField {
    enum Value {
        case text(String, maxBytes: Int)
        /// A text whose end says more than its beginning.
        case path(String, maxBytes: Int)
        case texts([String], maxBytes: Int)
        case id(StallID)
        case count(UInt64)
        case number(Int64)
        /// Milliseconds from microseconds, and other numbers with three fractional digits.
        case thousandths(UInt64)
        /// Wall clock, nanoseconds since 1970.
        case time(Int64)
        case hex(UInt64)
        case flag(Bool)
    }

    /// As in the native line: no escaping needed.
    let name: StaticString
    let value: Value

    init(_ name: StaticString, _ value: Value) {
        self.name = name
        self.value = value
    }
}

extension JSONLineWriter {
    /// The field as a member of the present object, as in the native line.
    mutating func write(_ field: LineField) {
        key(field.name)
        switch field.value {
        case .text(let text, let maxBytes): value(text, maxBytes: maxBytes)
        case .path(let text, let maxBytes): value(text, maxBytes: maxBytes, keepingEnd: true)
        case .texts(let texts, let maxBytes):
            beginArray()
            for text in texts { value(text, maxBytes: maxBytes) }
            endArray()
        case .id(let id): value(id)
        case .count(let number): value(number)
        case .number(let number): value(number)
        case .thousandths(let number): value(thousandths: number)
        case .time(let nanoseconds): value { UTCTime.append(nanosecondsSince1970: nanoseconds, to: &$0) }
        case .hex(let number): value(hex: number)
        case .flag(let flag): value(flag)
        }
    }
}
