/// Attempts at what a busy machine may prevent, at most three: `for _ in Attempts("a stall") { …; if isFound { break } }`. Prints
/// a line for each repetition: if a check often needs one, it has another cause.
public struct Attempts: Sequence, IteratorProtocol {
    private let what: String
    private var made = 0

    public init(_ what: String) { self.what = what }

    public mutating func next() -> Int? {
        guard made < 3 else { return nil }
        made += 1
        if made > 1 { print("attempt \(made): \(what)") }
        return made
    }
}
