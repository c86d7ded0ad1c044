/// The limit of each free string, in bytes between its quotes including escapes, and which fields appear.
package struct StringCaps {
    package let message: Int
    package let name: Int
    package let host: Int
    package let hash: Int
    package let word: Int
    package let reason: Int
    package let symbol: Int
    /// Fields of a lower priority are left out.
    package let priority: FieldPriority

    package var keepsOptional: Bool { priority == .optional }

    package subscript(cap: TextCap) -> Int {
        switch cap {
        case .message: message
        case .name: name
        case .host: host
        case .hash: hash
        case .word: word
        case .reason: reason
        case .symbol: symbol
        case .fixed: Self.fixed
        }
    }

    /// Tried in this order until the line fits.
    package static let fromWideToTight = [
        widest,
        StringCaps(message: 128, name: 32, host: 64, hash: 32, word: 32, reason: 96, symbol: 96, priority: .optional),
        StringCaps(message: 128, name: 20, host: 32, hash: 20, word: 16, reason: 0, symbol: 96, priority: .essential),
        StringCaps(message: 32, name: 20, host: 24, hash: 20, word: 16, reason: 0, symbol: 0, priority: .always),
    ]

    package static let widest = StringCaps(
        message: 512,
        name: 128,
        host: 255,
        hash: 64,
        word: 64,
        reason: 256,
        symbol: LineLimits.maximumSymbolBytes,
        priority: .optional
    )

    package static let path = 512
    package static let buildID = 64
    /// The limit of a frame's `language`.
    package static let languageName = fixed
    private static let fixed = 32
}
