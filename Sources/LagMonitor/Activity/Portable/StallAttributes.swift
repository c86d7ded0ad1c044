/// Names and values of a `withStallContext` context, in order.
///
/// A literal, `["tenant": tenant]`, a dictionary, or a sequence of pairs. Any thread.
@frozen public struct StallAttributes: Sendable, ExpressibleByDictionaryLiteral {
    @usableFromInline package let pairs: [(String, String)]

    @inlinable public init(dictionaryLiteral elements: (String, String)...) { pairs = elements }

    /// - Parameter pairs: names and values; those that do not fit are left out, from the end.
    @inlinable public init(_ pairs: some Sequence<(String, String)>) { self.pairs = Array(pairs) }

    /// - Parameter pairs: a `Dictionary` or `KeyValuePairs`; those that do not fit are left out, from the end.
    @inlinable public init(_ pairs: some Sequence<(key: String, value: String)>) { self.pairs = pairs.map { ($0, $1) } }

    /// The attributes of both, the left ones first.
    public static func + (left: StallAttributes, right: StallAttributes) -> StallAttributes {
        StallAttributes(left.pairs + right.pairs)
    }
}
