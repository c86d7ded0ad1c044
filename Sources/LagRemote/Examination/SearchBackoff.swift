/// Decides when to search again for something that may appear later, such as a library: after each failed search, twice as many
/// queries are skipped as after the previous one.
struct SearchBackoff {
    private let most: Int
    private var left = 0
    private var next: Int

    /// - Parameters:
    ///   - first: queries that are skipped after the first failed search.
    ///   - most: the maximum after any search.
    init(first: Int, most: Int) {
        self.next = first
        self.most = most
    }

    /// Whether to search at this query.
    mutating func isDue() -> Bool {
        guard left > 0 else { return true }
        left -= 1
        return false
    }

    mutating func wasInVain() {
        left = next
        next = min(2 * next, most)
    }
}
