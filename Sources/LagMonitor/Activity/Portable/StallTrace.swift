/// The trace and span to which a context belongs, in W3C's form: `trace_id` and `span_id` of the records of its stalls.
///
/// A plain value; any thread.
public struct StallTrace: Sendable, Hashable {
    package let high: UInt64
    package let low: UInt64
    package let span: UInt64

    /// - Parameters:
    ///   - traceID: 32 hex digits, not all zeros.
    ///   - spanID: 16 hex digits, not all zeros.
    /// - Returns: nil if a text has another form. Some 50 ns.
    public init?(traceID: String, spanID: String) {
        guard let high = Self.number(traceID.utf8.prefix(16)), let low = Self.number(traceID.utf8.dropFirst(16)),
            let span = Self.number(spanID.utf8[...]), high | low != 0, span != 0
        else { return nil }
        (self.high, self.low, self.span) = (high, low, span)
    }

    /// - Parameter traceParent: the value of a `traceparent` header: `00-<trace>-<span>-01`.
    public init?(traceParent: String) {
        let parts = traceParent.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[0].utf8.count == 2, parts[0] != "ff" else { return nil }
        self.init(traceID: String(parts[1]), spanID: String(parts[2]))
    }

    private static func number(_ digits: Substring.UTF8View) -> UInt64? {
        guard digits.count == 16 else { return nil }
        var number: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): number = number << 4 | UInt64(digit - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        return number
    }
}
