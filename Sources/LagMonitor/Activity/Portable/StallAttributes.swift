/// Names and values that a context of `withStallContext` has, in their order.
///
/// A literal, `["tenant": tenant]`, or a sequence of pairs. Any thread.
@frozen public struct StallAttributes: Sendable, ExpressibleByDictionaryLiteral {
    @usableFromInline package let pairs: [(String, String)]

    @inlinable public init(dictionaryLiteral elements: (String, String)...) { pairs = elements }

    /// - Parameter pairs: names and values; what does not fit is left out, from the end.
    @inlinable public init(_ pairs: some Sequence<(String, String)>) { self.pairs = Array(pairs) }
}
