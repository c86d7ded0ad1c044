/// Finds a duplicate name in an object of a JSON text. RFC 8259 lets each reader choose one of the values, so two readers of one
/// line may see two different stalls.
package enum DuplicateName {
    private static let longestExcerpt = 40

    /// The path of the first one: `lock_owner.frames[0].pc`. Nil: no duplicates.
    /// - Parameter text: a JSON text that ``JSONCursor`` has accepted, so its depth is bounded.
    package static func first(in text: UnsafeRawBufferPointer) -> String? {
        var cursor = JSONCursor(text)
        cursor.skipSpaces()
        return first(&cursor)
    }

    private static func first(_ cursor: inout JSONCursor) -> String? {
        var found: String?
        switch cursor.byte {
        case UInt8(ascii: "{"):
            // By their bytes: a String compares equal for two encodings of one letter.
            var names: Set<[UInt8]> = []
            _ = cursor.members { cursor, name, hasEscapes in
                let bytes = hasEscapes ? JSONString.bytes(name) : Array(name)
                if names.insert(bytes).inserted {
                    guard let inner = first(&cursor) else { return true }
                    found = shown(bytes) + (inner.hasPrefix("[") ? "" : ".") + inner
                } else {
                    found = shown(bytes)
                }
                return false
            }
        case UInt8(ascii: "["):
            var index = 0
            _ = cursor.elements { cursor in
                found = first(&cursor).map { "[\(index)]\($0.hasPrefix("[") ? "" : ".")\($0)" }
                index += 1
                return found == nil
            }
        default: _ = cursor.skipValue(depth: 0)
        }
        return found
    }

    private static func shown(_ name: [UInt8]) -> String {
        String(decoding: name.prefix(longestExcerpt), as: UTF8.self) + (name.count > longestExcerpt ? "…" : "")
    }
}
