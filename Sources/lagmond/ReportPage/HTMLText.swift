internal import LagModel
internal import LagReader

/// Text as it may stand in HTML, between tags and in quoted attributes.
enum HTMLText {
    /// What a cell shows of a text; the rest of a longer one is in the stall's detail.
    static let maximumCharacters = 160

    /// With nothing that a browser takes for markup, and without control characters: a bidirectional override in a symbol turns what
    /// stands beside it around.
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

    /// Cut to what a cell shows.
    static func short(_ text: String, _ most: Int = maximumCharacters) -> String {
        // Not by what a reader takes for one character: that may be a letter with a thousand accents.
        let scalars = text.unicodeScalars
        let end = scalars.index(scalars.startIndex, offsetBy: most, limitedBy: scalars.endIndex)
        guard let end, end < scalars.endIndex else { return escaped(text) }
        return escaped(text[..<end]) + "…"
    }

    static func short(_ bytes: [UInt8]) -> String { short(String(decoding: bytes, as: UTF8.self)) }

    /// A name that may be broken behind its dots.
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
