/// Prefixes of names, indexed by their first byte: a frame is compared with some dozens of them, and Swift's `hasPrefix` compares
/// characters, not bytes.
struct PrefixSet: Sendable {
    private let byFirstByte: [[[UInt8]]]

    init(_ prefixes: [String]) {
        var lists: [[[UInt8]]] = Array(repeating: [], count: 256)
        for prefix in prefixes {
            let bytes = Array(prefix.utf8)
            if let first = bytes.first { lists[Int(first)].append(bytes) }
        }
        byFirstByte = lists
    }

    /// Whether `name` begins with one of them.
    func holdsPrefix(of name: some StringProtocol) -> Bool {
        let utf8 = name.utf8
        guard let first = utf8.first else { return false }
        return byFirstByte[Int(first)].contains { utf8.starts(with: $0) }
    }
}
