extension String {
    /// The beginning of the text that fits in `limit` bytes of UTF-8: whole characters, or whole code points if the first
    /// character alone is longer, so that a text is never cut to nothing.
    /// - Parameter limit: at least 4, the length of the longest code point.
    package func cut(toBytes limit: Int) -> String {
        if utf8.count <= limit { return self }
        let bound = utf8.index(startIndex, offsetBy: limit)
        // Rounded down to a whole character: the beginning of the one that contains the bound.
        let end = indices.last(where: { $0 <= bound }) ?? startIndex
        if end > startIndex { return String(self[..<end]) }
        let scalars = unicodeScalars
        let scalarEnd = scalars.indices.prefix { $0 <= bound }.last ?? startIndex
        return String(scalars[..<scalarEnd])
    }
}
