/// Parses the output of `llvm-symbolizer --addresses`, in pieces as they arrive.
///
/// A reply is a line with the address, two lines per level (function; `file:line:column`), and an empty line (LLVM's
/// manual, "llvm-symbolizer", output style LLVM). The address identifies the query, so that a child that
/// sends too much or too little is detected, and no answer can be assigned to the wrong query.
struct SymbolizerReplies {
    struct Level: Equatable {
        /// As in the file; nil if not known.
        var rawName: String?
        var file: String?
        var line: Int?
        var column: Int?
        /// Whether the answer reports no location.
        var hasNoLocation = false
    }

    /// Longer replies are rejected. A level takes some hundred bytes.
    static let maximumReplyBytes = 256 << 10
    /// In deeper inlining, the outermost levels except the last are omitted.
    static let maximumLevels = 32

    private let addresses: [UInt64]
    private(set) var replies: [[Level]] = []
    /// Received bytes that are not yet a complete reply.
    private var rest: [UInt8] = []
    /// Where the search for an end continues in `rest`.
    private var searched = 0

    /// - Parameter addresses: the queried addresses, in this order.
    init(addresses: [UInt64]) { self.addresses = addresses }

    var isComplete: Bool { replies.count == addresses.count }

    /// Takes received bytes; false if they are not a valid answer.
    mutating func take(_ bytes: some Sequence<UInt8>) -> Bool {
        rest.append(contentsOf: bytes)
        var start = 0
        while let end = endOfReply(from: max(start, searched)) {
            guard !isComplete, append(rest[start..<end]) else { return false }
            start = end + 2
            searched = start
        }
        rest.removeFirst(start)
        searched = max(0, rest.count - 1)
        return rest.count <= Self.maximumReplyBytes && !(isComplete && !rest.isEmpty)
    }

    /// The index where the newline of the next empty line and the one before it are.
    private func endOfReply(from start: Int) -> Int? {
        var index = start
        while index + 1 < rest.count {
            if rest[index] == Self.newline, rest[index + 1] == Self.newline { return index }
            index += 1
        }
        return nil
    }

    private mutating func append(_ reply: ArraySlice<UInt8>) -> Bool {
        let lines = reply.split(separator: Self.newline, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard let first = lines.first, first.hasPrefix("0x"), UInt64(first.dropFirst(2), radix: 16) == addresses[replies.count],
            lines.count % 2 == 1
        else { return false }
        var levels = stride(from: 1, to: lines.count, by: 2).map { Self.level(lines[$0], lines[$0 + 1]) }
        if levels.count > Self.maximumLevels { levels.removeSubrange(Self.maximumLevels - 1..<levels.count - 1) }
        // Without a location, the name is that of the nearest symbol, however far away.
        let hasNoLocation = levels.allSatisfy(\.hasNoLocation)
        replies.append(
            levels.contains { $0.file != nil } ? levels : hasNoLocation && !levels.isEmpty ? [Level(hasNoLocation: true)] : []
        )
        return true
    }

    private static func level(_ name: String, _ place: String) -> Level {
        var level = Level(rawName: name == "??" ? nil : name)
        let parts = place.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count >= 3, let line = Int(parts[parts.count - 2]), let column = Int(parts[parts.count - 1]) else {
            return level
        }
        let file = parts.dropLast(2).joined(separator: ":")
        guard !file.hasSuffix(compilerGenerated), !file.isEmpty else { return level }
        // A bare name without a line is the object file from the symbol table: the source is not known.
        level.hasNoLocation = file == "??" || (line == 0 && !file.contains("/"))
        guard !level.hasNoLocation else { return level }
        level.file = file
        if line > 0 {
            level.line = line
            level.column = column > 0 ? column : nil
        }
        return level
    }

    private static let newline = UInt8(ascii: "\n")
    /// What Swift's compiler writes for code without a source; a folder may precede it.
    private static let compilerGenerated = "<compiler-generated>"
}
