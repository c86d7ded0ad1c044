internal import LagModel
internal import LagReader

/// Text that is safe in HTML, between tags and in quoted attributes.
enum HTMLText {
    /// The maximum that a cell shows; the stall's details show the full text.
    static let maximumCharacters = 160

    /// Without markup and control characters: a bidirectional override in a symbol would reverse the text
    /// beside it.
    static func escaped(_ text: some StringProtocol) -> String {
        var output = ""
        for character in PlainText.sanitized(text.utf8).unicodeScalars {
            switch character {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            case "'": output += "&#39;"
            default: output.unicodeScalars.append(character)
            }
        }
        return output
    }

    /// Truncated to what a cell shows.
    static func short(_ text: String, _ most: Int = maximumCharacters) -> String {
        // By scalars, not by `Character`: one `Character` may be a letter with a thousand accents.
        let scalars = text.unicodeScalars
        let end = scalars.index(scalars.startIndex, offsetBy: most, limitedBy: scalars.endIndex)
        guard let end, end < scalars.endIndex else { return escaped(text) }
        return escaped(text[..<end]) + "…"
    }

    static func short(_ bytes: [UInt8]) -> String { short(String(decoding: bytes, as: UTF8.self)) }

    /// A name with line-break opportunities after its dots.
    static func breakable(_ bytes: [UInt8]) -> String { breakable(String(decoding: bytes, as: UTF8.self)) }

    static func breakable(_ text: String, _ most: Int = maximumCharacters) -> String {
        short(text, most).replacing(".", with: ".<wbr>")
    }

    /// Digits in groups of three.
    static func number(_ number: some BinaryInteger) -> String {
        var output = ""
        for (index, digit) in String(number).reversed().enumerated() {
            if index > 0, index % 3 == 0, digit != "-" { output.append("\u{202f}") }
            output.append(digit)
        }
        return String(output.reversed())
    }

    /// `2026-11-21 18:07:56.654`, in UTC.
    static func time(_ nanoseconds: Int64, withMilliseconds: Bool = false) -> String {
        let text = UTCTime.text(nanoseconds, fractionDigits: withMilliseconds ? 3 : 0)
        return String(text.dropLast().replacing("T", with: " "))
    }
}
