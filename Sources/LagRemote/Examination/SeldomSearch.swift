/// When to search again for what may come later, such as a library that a program loads: after each search in vain twice as many questions are left out
/// as after the one before.
struct SeldomSearch {
    private let most: Int
    private var left = 0
    private var next: Int

    /// - Parameters:
    ///   - first: questions that are left out after the first search in vain.
    ///   - most: the same after any.
    init(first: Int, most: Int) {
        self.next = first
        self.most = most
    }

    /// Whether to search at this question.
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
